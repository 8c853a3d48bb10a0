tern list dtypes t5 --json
