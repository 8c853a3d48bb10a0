tern graph compile --help
