module helm-template

go 1.21
