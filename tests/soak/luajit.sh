#!/bin/sh
# LuaJIT: system calls out of traces that are compiled and dropped again, by ffi.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need luajit=luajit

cat >"$DIR/a.lua" <<'E'
local ffi, bit = require("ffi"), require("bit")
ffi.cdef [[
int open(const char *, int, ...); long read(int, void *, size_t); long write(int, const void *, size_t); int close(int); int unlink(const char *);
long pread(int, void *, size_t, long); long pwrite(int, const void *, size_t, long); int pipe(int *); long syscall(long, ...); int fsync(int);
void *mmap(void *, size_t, int, int, int, long); int mprotect(void *, size_t, int); int munmap(void *, size_t); int getpid(void); int fork(void); int waitpid(int, int *, int); void _exit(int);
int qsort(void *, size_t, size_t, int (*)(const void *, const void *));
]]
local C, n = ffi.C, 2000 + 30000 * tonumber(os.getenv("SCALE"))
local b = ffi.new("unsigned char[256]")
local fd = C.open("f", 66, ffi.cast("int", 420))
local sum = 0
for i = 1, n do
	b[i % 256] = bit.band(i * 7, 255)
	if C.write(fd, b, 1 + i % 256) ~= 1 + i % 256 then error("short write") end
	if i % 3 == 0 then sum = sum + tonumber(C.pread(fd, b, 100, i)) + b[i % 100] end
	if i % 1000 == 0 then C.fsync(fd) end
end
print("file", sum)
local p = ffi.new("int[2]"); C.pipe(p)
sum = 0
for i = 1, n do b[0] = i % 251; C.write(p[1], b, 1); b[0] = 0; C.read(p[0], b, 1); sum = sum + b[0] end
print("pipe", sum)
-- The same loop by syscall(2), and by machine code that is written anew again and again.
for i = 1, n do sum = sum + tonumber(C.syscall(18, ffi.cast("long", fd), b, ffi.cast("long", 8), ffi.cast("long", i))) end
print("syscall", sum)
local code = ffi.cast("unsigned char *", C.mmap(nil, 4096, 7, 34, -1, 0))
local bad = 0
for round = 1, 50 do
	local nr, want = round % 2 == 0 and 0 or 1, round % 2
	local s = string.char(0xb8, nr, 0, 0, 0, 0x0f, 0x05, 0xc3)
	local at = code + round % 7
	ffi.copy(at, s, #s)
	local f = ffi.cast("long (*)(int, void *, size_t)", at)
	for i = 1, 100 do if want == 1 then bad = bad + (f(p[1], b, 1) == 1 and 0 or 1) else bad = bad + (f(p[0], b, 1) == 1 and 0 or 1) end end
	if round == 25 then C.munmap(code, 4096); code = ffi.cast("unsigned char *", C.mmap(code, 4096, 7, 50, -1, 0)) end
end
print("own code", bad)
jit.flush(); jit.off()
for i = 1, 1000 do sum = sum + tonumber(C.pwrite(fd, b, 5, i)) end
jit.on()
print("interpreted", sum)
local a = ffi.new("int[1000]"); for i = 0, 999 do a[i] = i * 7919 % 1009 end
C.qsort(a, 1000, 4, function(x, y) C.pread(fd, b, 1, 0); return ffi.cast("const int *", x)[0] - ffi.cast("const int *", y)[0] end)
local ok = true; for i = 1, 999 do ok = ok and a[i - 1] <= a[i] end; print("callbacks", ok)
for i = 1, 20 do local pid = C.fork(); if pid == 0 then for k = 1, 200 do C.pwrite(fd, b, 5, k) end C._exit(i) end; local s = ffi.new("int[1]"); C.waitpid(pid, s, 0); sum = sum + s[0] end
print("forks", sum)
for i = 1, 300 do local co = coroutine.wrap(function() local f = io.open("c" .. i % 10, "w"); coroutine.yield(); f:write(("x"):rep(i)); f:close() end); co(); co() end
print(pcall(function() error(io.open("nosuch")) end), select(2, io.open("nosuch")))
print(io.popen("cat c9 | wc -c"):read("*a"))
E
export LUA="$DIR/a.lua"
pair "ffi, compiled" <<'E'
luajit -O3 -Ohotloop=2 "$LUA"; sha256sum f
E
pair "ffi, interpreted" <<'E'
luajit -joff "$LUA"; sha256sum f
E
exit $bad
