echo hello >text
printf 'PK\3\4' >cut.npz
printf 'graph {' >cut.tern
status tern inspect text
status tern inspect cut.npz
status tern inspect cut.tern
status tern inspect absent --json
status tern inspect .
