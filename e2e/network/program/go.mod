module network

go 1.21
