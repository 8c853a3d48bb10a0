tern graph runn x.tern
