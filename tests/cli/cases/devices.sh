# The line of features is missing where the processor has none beyond its level.
tern devices | sed -E -e '/^  features /d' -e 's/^(  (cores online|cores set by|cores|isa levels|isa|features|kernels|libraries|model|memory|L1 data cache|L2 cache|L3 cache)) .*/\1 .../'
