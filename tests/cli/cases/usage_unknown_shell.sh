tern completion fish
