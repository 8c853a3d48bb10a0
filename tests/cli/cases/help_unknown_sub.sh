tern help graph rum
