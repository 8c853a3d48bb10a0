status tern graph run a b
status tern version now
status tern devices cpu
status tern list ops add sub
