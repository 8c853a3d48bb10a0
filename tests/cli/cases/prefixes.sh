# No message says its command twice, whoever wrote it; a file that is called like the command keeps its name.
grep -hrE 'tern: ([a-z]+): \1:|tern: [a-z]+ ([a-z]+): \2:|tern: ([a-z]+) [a-z]+: \3:' "$DOCS"/../tests/cli/cases/[!p]*.std*
status tern bench ops --family nothing
status tern inspect inspect
status tern report report
status tern inspect nowhere
