tern graph --jsno
