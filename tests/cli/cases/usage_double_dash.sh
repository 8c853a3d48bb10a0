# After -- nothing is an option, so these are files.
status tern inspect -- --json
status tern graph check -- -h
