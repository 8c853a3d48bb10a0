tern frobnicate
