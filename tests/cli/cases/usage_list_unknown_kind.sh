status tern list op
status tern list colours
