tern --versoin
