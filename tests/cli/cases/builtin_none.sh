# Without -m, in a program that has no model inside.
! tern inspect >/dev/null 2>&1 || skip "a model is built in"
echo text >text
status tern run -p x
status tern chat
status tern perplexity -f text
status tern bench model
status tern tokenize -p x
status tern inspect
status tern demo
