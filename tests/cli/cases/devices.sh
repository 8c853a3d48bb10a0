# The line of features is missing where the processor has none beyond its level. What is there besides the processor depends on the
# machine: names only.
tern devices | sed '/^$/,$d' | sed -E -e '/^  features /d' -e 's/^(  (cores online|cores|isa levels|isa|features|kernels|libraries|model|memory|L1 data cache|L2 cache|L3 cache)) .*/\1 .../'
tern devices | sed '1d; /^ /d; /^$/d'
# What cores are limited by stands behind them; a library of another system is not spoken of.
tern devices | sed -nE '1,/^$/s/^  cores +[0-9]+ \((all cores|affinity|cgroup quota).*\)$/cores and their reason/p'
[ "$(uname)" = Darwin ] || ! tern devices | grep accelerate
