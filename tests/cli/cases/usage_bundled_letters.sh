tern list -hx
