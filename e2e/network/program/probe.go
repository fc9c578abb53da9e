package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// One attempt. `At` is the address to connect to; without it the name is resolved.
type row struct{ Id, Kind, Host, At string }

const limit = 20 * time.Second

func probe(rows []row) map[string]string {
	verdicts, lock, done := map[string]string{}, sync.Mutex{}, sync.WaitGroup{}
	for _, one := range rows {
		attempt := attempts[one.Kind]
		if attempt == nil {
			continue
		}
		done.Add(1)
		go func(one row) {
			defer done.Done()
			said, err := attempt(one)
			if err != nil || said == "" {
				said = "no"
			}
			lock.Lock()
			verdicts[one.Id] = said
			lock.Unlock()
		}(one)
	}
	done.Wait()
	return verdicts
}

var attempts = map[string]func(row) (string, error){
	"http":  func(one row) (string, error) { return get("http://"+one.Host+"/", one.At) },
	"https": func(one row) (string, error) { return get("https://"+one.Host+"/", one.At) },
	"tcp":   func(one row) (string, error) { return talk("tcp", one.At+":7000") },
	"udp":   func(one row) (string, error) { return talk("udp", one.At+":7000") },
}

func get(url, at string) (string, error) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, port, err := net.SplitHostPort(address); at != "" && err == nil {
			address = net.JoinHostPort(at, port)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	client := http.Client{Timeout: limit, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

func talk(network, address string) (string, error) {
	connection, err := net.DialTimeout(network, address, limit)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(limit))
	if network == "udp" {
		if _, err := connection.Write([]byte("hello")); err != nil {
			return "", err
		}
	}
	buffer := make([]byte, 64)
	count, err := connection.Read(buffer)
	return string(buffer[:count]), err
}
