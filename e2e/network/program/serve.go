package main

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
)

// What a process serves. Each server has a name, which is in all that it says.
type servePlan struct {
	// Servers with HTTP, TLS of one version, and an echo on port 7000 and, by UDP, 443.
	Servers []struct{ Name, Address, Tls string }
	// Addresses of name servers, and what they answer for each name.
	NameServers []string
	Names       map[string]string
	Cert, Key   string
}

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func serve(plan servePlan) {
	for _, server := range plan.Servers {
		name := server.Name
		answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, name+" "+spoken(r.TLS))
			if added := r.Header.Get("X-Added"); added != "" {
				fmt.Fprint(w, " "+added)
			}
		})
		go http.Serve(listen(server.Address+":80"), answer)
		if version, ok := versions[server.Tls]; ok {
			pair, err := tls.LoadX509KeyPair(plan.Cert, plan.Key)
			must(err)
			config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: version, MaxVersion: version}
			quiet := &http.Server{Handler: answer, ErrorLog: log.New(io.Discard, "", 0)}
			go quiet.Serve(tls.NewListener(listen(server.Address+":443"), config))
		}
		go greet(listen(server.Address+":7000"), name)
		for _, port := range []string{":7000", ":443"} {
			go answerPackets(server.Address+port, func([]byte) []byte { return []byte(name) })
		}
	}
	for _, address := range plan.NameServers {
		resolve := func(question []byte) []byte { return resolved(plan.Names, question) }
		go answerPackets(address+":53", resolve)
		go answerFramed(listen(address+":53"), resolve)
	}
	fmt.Println("ready")
	select {}
}

func spoken(state *tls.ConnectionState) string {
	if state == nil {
		return "plain"
	}
	for text, version := range versions {
		if version == state.Version {
			return text
		}
	}
	return "?"
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	must(err)
	return listener
}

func greet(listener net.Listener, name string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			io.WriteString(connection, name)
			connection.Close()
		}()
	}
}

func answerPackets(address string, answer func([]byte) []byte) {
	socket, err := net.ListenPacket("udp", address)
	must(err)
	buffer := make([]byte, 2048)
	for {
		count, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return
		}
		if said := answer(buffer[:count]); said != nil {
			socket.WriteTo(said, from)
		}
	}
}

// DNS by TCP: a length of two bytes before each message.
func answerFramed(listener net.Listener, answer func([]byte) []byte) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			var length uint16
			for binary.Read(connection, binary.BigEndian, &length) == nil {
				question := make([]byte, length)
				if _, err := io.ReadFull(connection, question); err != nil {
					return
				}
				said := answer(question)
				binary.Write(connection, binary.BigEndian, uint16(len(said)))
				connection.Write(said)
			}
		}()
	}
}

const head = 12

// The answer to a question for an address of one of the names; nothing else is known.
func resolved(names map[string]string, question []byte) []byte {
	at, labels := head, []string{}
	for at < len(question) && question[at] != 0 {
		end := at + 1 + int(question[at])
		if end >= len(question) {
			return nil
		}
		labels = append(labels, strings.ToLower(string(question[at+1:end])))
		at = end
	}
	end := at + 5
	if end > len(question) {
		return nil
	}
	isA := binary.BigEndian.Uint16(question[at+1:]) == 1
	address, known := names[strings.Join(labels, ".")]
	said := append([]byte{}, question[:end]...)
	said[2], said[3] = 0x81, 0x80
	if !known {
		said[3] |= 3
	}
	for i := 4; i < head; i++ {
		said[i] = 0
	}
	said[5] = 1
	if known && isA {
		said[7] = 1
		said = append(said, 0xc0, head, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4)
		said = append(said, net.ParseIP(address).To4()...)
	}
	return said
}
