tern list ops --color sometimes
