tern
