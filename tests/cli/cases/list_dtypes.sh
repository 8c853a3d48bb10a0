tern list dtypes
