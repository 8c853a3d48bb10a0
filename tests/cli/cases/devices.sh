tern devices | sed -E 's/^(  (cores online|cores set by|cores|isa levels|isa|features|kernels|model|memory|L1 data cache|L2 cache|L3 cache)) .*/\1 .../'
