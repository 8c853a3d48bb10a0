tern lits
