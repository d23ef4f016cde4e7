#!/bin/sh
# Go: the compiler, a program with many goroutines, and the standard library's own tests.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need go=golang-go
export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off GO111MODULE=on GOMAXPROCS=4

cat >"$DIR/main.go" <<'E'
package main

import ("bytes"; "crypto/sha1"; "fmt"; "io"; "net"; "os"; "os/exec"; "os/signal"; "strings"; "sync"; "sync/atomic"; "syscall"; "time"; "runtime")

func must(err error) { if err != nil { panic(err) } }

func main() {
	var scale int; fmt.Sscan(os.Getenv("SCALE"), &scale)
	n := 20 + 80*scale
	var wg sync.WaitGroup; var total int64
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			name := fmt.Sprint("f", i)
			f, err := os.Create(name); must(err)
			for k := 0; k < 200; k++ { _, err = f.Write(bytes.Repeat([]byte{byte(i + k)}, k+1)); must(err) }
			_, err = f.Seek(0, 0); must(err)
			m, err := io.Copy(io.Discard, f); must(err); atomic.AddInt64(&total, m)
			b := make([]byte, 100); _, err = f.ReadAt(b, 1000); must(err); must(f.Close()); must(os.Rename(name, name+"x"))
		}(i)
	}
	wg.Wait(); fmt.Println("files", total)

	h := sha1.New(); es, err := os.ReadDir("."); must(err)
	for _, e := range es { if strings.HasSuffix(e.Name(), "x") && e.Name()[0] == 'f' { b, _ := os.ReadFile(e.Name()); h.Write(b) } }
	fmt.Printf("sum %x\n", h.Sum(nil))

	for i := 0; i < n/2; i++ {
		wg.Add(1)
		go func(i int) { defer wg.Done(); c := exec.Command("cat"); c.Stdin = strings.NewReader(strings.Repeat("x", i*1000)); o, err := c.Output(); must(err); atomic.AddInt64(&total, int64(len(o))) }(i)
	}
	wg.Wait(); fmt.Println("exec", total)

	l, err := net.Listen("tcp", "127.0.0.1:0"); must(err)
	go func() { for { c, err := l.Accept(); if err != nil { return }; go func() { io.Copy(c, c); c.Close() }() } }()
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func() { defer wg.Done(); c, err := net.Dial("tcp", l.Addr().String()); must(err); b := make([]byte, 1000); for k := 0; k < 20; k++ { c.Write(b); _, err = io.ReadFull(c, b); must(err) }; c.Close(); atomic.AddInt64(&total, 1) }()
	}
	wg.Wait(); l.Close(); fmt.Println("net", total)

	// Loops without calls, that only signals preempt, while others write.
	stop := time.Now().Add(500 * time.Millisecond); pr, pw, err := os.Pipe(); must(err)
	for i := 0; i < 4; i++ { wg.Add(1); go func() { defer wg.Done(); x := 0; for time.Now().Before(stop) { for k := 0; k < 1e6; k++ { x += k ^ x } } }() }
	go func() { for i := 0; i < 2000; i++ { pw.Write([]byte("0123456789")) }; pw.Close() }()
	m, err := io.Copy(io.Discard, pr); must(err); wg.Wait(); fmt.Println("pipe", m)

	ch := make(chan os.Signal, 1000); signal.Notify(ch, syscall.SIGUSR1, syscall.SIGWINCH)
	for i := 0; i < 20; i++ { syscall.Kill(os.Getpid(), syscall.SIGUSR1); <-ch }
	fmt.Println("signals 20")
	c := exec.Command("sleep", "100"); must(c.Start()); c.Process.Kill(); fmt.Println(c.Wait())
	r, w, _ := os.Pipe(); r.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); _, err = r.Read(make([]byte, 1)); fmt.Println(err); w.Close()
	func() { defer func() { fmt.Println("recovered", recover()) }(); var p *int; *p = 1 }()
	runtime.LockOSThread(); _, err = os.Open("nosuch"); fmt.Println(err)
	b := make([]byte, 8); _, err = syscall.Read(-1, b); fmt.Println(err)
}
E
export MAIN="$DIR/main.go" GOCACHE="$OUT/gocache"
rm -rf "$GOCACHE"
pair "compile and run" <<'E'
export GOCACHE=$PWD/cache; mkdir m; cd m; cp "$MAIN" main.go; printf 'module m\ngo 1.19\n' >go.mod
go vet . 2>&1; go build -trimpath -buildvcs=false -o ../main . && cd .. && sha256sum main && ./main; s=$?; chmod -R u+w .; exit $s
E
export GOCACHE="$OUT/gocache"
pair "run without asynchronous preemption" <<'E'
mkdir m; cp "$MAIN" m/main.go; printf 'module m\ngo 1.19\n' >m/go.mod; (cd m && go build -buildvcs=false -o ../main .) && GODEBUG=asyncpreemptoff=1 ./main && GOGC=1 GODEBUG=gcstoptheworld=1 ./main
E
wide && pair "run with the race detector" <<'E'
mkdir m; cp "$MAIN" m/main.go; printf 'module m\ngo 1.19\n' >m/go.mod; (cd m && CGO_ENABLED=1 go build -race -buildvcs=false -o ../main .) && ./main
E
t=
! wide || t="os os/exec os/signal io io/ioutil bufio path/filepath archive/tar syscall"
[ "$SCALE" -lt 2 ] || t="$t net net/http runtime runtime/pprof os/user compress/gzip archive/zip log/syslog internal/poll plugin"
for P in $t; do
	export P
	[ -d "$(go env GOROOT)/src/$P" ] || continue
	pair "test $P" <<'E'
cp -r "$(go env GOROOT)/src/$P" . 2>/dev/null
(cd "$(go env GOROOT)/src" && go test -short -c -o "$OLDPWD/t.test" "$P") >&2 || exit
cd "$(go env GOROOT)/src/$P" && "$OLDPWD/t.test" -test.short -test.v >"$OLDPWD/log" 2>&1; s=$?; cd "$OLDPWD"; cat log >&2
sed -n 's/^ *\(--- [A-Z]*: [^ ]*\) .*/\1/p' log
echo "= $(grep -c -- '--- PASS' log) ok, $(grep -c -- '--- SKIP' log) skipped, $(grep -c -- '--- FAIL' log) failed"; exit $s
E
done
rm -rf "$GOCACHE"
exit $bad
