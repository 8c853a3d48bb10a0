tern graph run x.tern --inptu x=x.npy
