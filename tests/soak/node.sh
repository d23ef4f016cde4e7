#!/bin/sh
# Node: promises, streams, threads, children, watching; its pool of threads does the I/O.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need node=nodejs

pair "fs promises and callbacks" <<'E'
cat >a.js <<'J'
const fs = require('fs'), p = fs.promises, crypto = require('crypto'), N = 200 + 800 * process.env.SCALE;
const sum = b => crypto.createHash('sha1').update(b).digest('hex').slice(0, 12);
(async () => {
	await p.mkdir('a/b/c', { recursive: true });
	await Promise.all([...Array(N).keys()].map(i => p.writeFile('a/b/' + i, Buffer.alloc(i * 7, i))));
	const r = await Promise.all([...Array(N).keys()].map(i => p.readFile('a/b/' + i)));
	console.log('read', sum(Buffer.concat(r)), (await p.readdir('a/b')).length);
	await Promise.all([...Array(N).keys()].map(async i => {
		const h = await p.open('a/b/' + i, 'r+');
		await h.write(Buffer.from('head'), 0, 4, 0); await h.writev([Buffer.from('x'), Buffer.from('yz')], 100);
		const { bytesRead } = await h.read(Buffer.alloc(50), 0, 50, 2); if (bytesRead < 1) throw 1;
		if (i % 20 == 0) await h.sync();
		await h.truncate(i * 3); await h.close();
	}));
	let all = 0; for (let i = 0; i < N; i++) all += (await p.stat('a/b/' + i)).size;
	console.log('size', all);
	await p.copyFile('a/b/99', 'copy'); await p.appendFile('copy', 'more'); await p.rename('copy', 'moved'); await p.symlink('moved', 'link');
	console.log(sum(await p.readFile('link')), await p.readlink('link'));
	for (const f of ['nosuch', 'a']) await p.readFile(f).catch(e => console.log(e.code, e.syscall, e.errno));
	await p.cp('a', 'z', { recursive: true }); console.log((await p.readdir('z/b')).length);
	for await (const d of await p.opendir('z')) console.log(d.name, d.isDirectory());
	await p.rm('z', { recursive: true }); console.log(fs.existsSync('z'));
	fs.readFile('moved', (e, d) => fs.write(fs.openSync('cb', 'w'), d, () => console.log(sum(fs.readFileSync('cb')))));
})();
process.on('exit', c => console.log('exit', c));
J
node a.js
E

pair "streams, zlib, sockets" <<'E'
cat >a.js <<'J'
const fs = require('fs'), zlib = require('zlib'), net = require('net'), http = require('http'), { pipeline } = require('stream/promises'), { createHash } = require('crypto');
const M = (2 + 14 * process.env.SCALE) * 1e6;
const sum = f => createHash('sha1').update(fs.readFileSync(f)).digest('hex');
(async () => {
	await pipeline(async function* () { for (let i = 0, n = 0; n < M; i++) { const b = Buffer.from((i + ' ').repeat(500)); n += b.length; yield b; } }, fs.createWriteStream('big'));
	await pipeline(fs.createReadStream('big'), zlib.createGzip({ level: 1 }), fs.createWriteStream('big.gz'));
	await pipeline(fs.createReadStream('big.gz'), zlib.createGunzip(), fs.createWriteStream('again'));
	console.log(sum('big'), sum('again'), sum('big.gz'));
	await new Promise(done => { const s = net.createServer(c => pipeline(c, fs.createWriteStream('net')).then(() => s.close(done))).listen(process.cwd() + '/s', () => pipeline(fs.createReadStream('big', { highWaterMark: 9999 }), net.connect(process.cwd() + '/s'))); });
	console.log(sum('net'));
	await new Promise(done => { const s = http.createServer((q, r) => { q.url == '/big' ? fs.createReadStream('big').pipe(r) : q.pipe(r); }).listen(0, async () => {
		const u = 'http://127.0.0.1:' + s.address().port;
		const h = createHash('sha1'); for await (const c of (await fetch(u + '/big')).body) h.update(c); console.log(h.digest('hex'));
		const a = await Promise.all([...Array(100).keys()].map(async i => (await (await fetch(u, { method: 'POST', body: 'x'.repeat(i * 100) })).text()).length)); console.log(a.reduce((x, y) => x + y));
		s.closeAllConnections(); s.close(done); }); });
})();
J
node a.js
E

pair "worker_threads" <<'E'
cat >a.js <<'J'
const { Worker, isMainThread, workerData, parentPort, threadId } = require('worker_threads'), fs = require('fs');
if (isMainThread) {
	const s = new Int32Array(new SharedArrayBuffer(8)); let left = 8;
	for (let i = 0; i < 8; i++) new Worker(__filename, { workerData: { i, s } }).on('message', m => console.log(m)).on('exit', c => { if (!--left) console.log('all', c, Atomics.load(s, 0)); });
	const t = new Worker('require("worker_threads").parentPort.postMessage(0); for (;;) require("fs").statSync("/")', { eval: true });
	t.on('message', () => setTimeout(() => t.terminate().then(c => console.log('terminated', c)), 300));
} else {
	const { i, s } = workerData, f = 'w' + i, n = 300 + 2000 * process.env.SCALE, fd = fs.openSync(f, 'w+'), b = Buffer.alloc(64);
	let sum = 0;
	for (let k = 0; k < n; k++) { b.fill(k % 251); fs.writeSync(fd, b, 0, 64, k * 64); fs.readSync(fd, b, 0, 64, (k >> 1) * 64); sum += b[5]; Atomics.add(s, 0, 1); }
	parentPort.postMessage('worker ' + i + ' ' + sum + ' ' + fs.fstatSync(fd).size);
}
J
node a.js
E

pair "child_process and signals" <<'E'
cat >a.js <<'J'
const { spawn, spawnSync, exec, execFile, fork } = require('child_process'), fs = require('fs');
if (process.argv[2]) { process.on('message', m => { process.send(m * 2); if (m == 9) process.disconnect(); }); } else (async () => {
	console.log(spawnSync('sort', ['-r'], { input: 'a\nc\nb\n' }).stdout.toString());
	const c = spawn('cat'); let got = 0; c.stdout.on('data', d => got += d.length); c.stdin.end('y'.repeat(1 << 20)); await new Promise(r => c.on('close', r)); console.log('cat', got);
	const k = spawn('sleep', ['100']); k.kill('SIGTERM'); await new Promise(r => k.on('exit', (code, sig) => r(console.log(code, sig))));
	await Promise.all([...Array(20).keys()].map(i => new Promise(r => exec('exit ' + i, e => r(console.log('exit', i, e ? e.code : 0))))));
	await new Promise(r => execFile('nosuchprogram', e => r(console.log(e.code))));
	await new Promise(r => exec("exec sleep 10", { timeout: 200 }, e => r(console.log(e.killed, e.signal))));
	const f = fork(__filename, ['child']); let s = 0; f.on('message', m => s += m); for (let i = 0; i < 10; i++) f.send(i); await new Promise(r => f.on('exit', r)); console.log('fork', s);
	await new Promise(r => { process.once('SIGUSR2', () => r(console.log('usr2'))); process.kill(process.pid, 'SIGUSR2'); });
	const fd = fs.openSync('out', 'w'); spawnSync('sh', ['-c', 'echo one; echo two >&2'], { stdio: ['ignore', fd, fd] }); console.log(fs.readFileSync('out', 'utf8'));
})();
J
node a.js
E

pair "fs.watch" <<'E'
cat >a.js <<'J'
const fs = require('fs'), seen = new Set();
fs.mkdirSync('w'); fs.writeFileSync('polled', '1');
const w = fs.watch('w', (e, f) => seen.add(e + ' ' + f));
fs.watchFile('polled', { interval: 50 }, (a, b) => console.log('polled', b.size, a.size));
setTimeout(() => { for (let i = 0; i < 20; i++) { fs.writeFileSync('w/' + i, 'x'); if (i % 2) fs.unlinkSync('w/' + i); else fs.renameSync('w/' + i, 'w/r' + i); } fs.writeFileSync('polled', '12345'); }, 200);
setTimeout(() => { w.close(); fs.unwatchFile('polled'); for (const s of [...seen].sort()) console.log(s); }, 1500);
J
node a.js
E

pair "node:test, npm, snapshots of the heap" <<'E'
cat >t.test.js <<'J'
const t = require('node:test'), a = require('assert'), fs = require('fs');
for (let i = 0; i < 20; i++) t('case ' + i, async () => { await fs.promises.writeFile('f' + i, 'x'); a.equal(fs.statSync('f' + i).size, 1); });
t('fails', () => a.equal(1, 2));
J
node --test --test-reporter=tap t.test.js | grep '^ *\(ok\|not ok\)\|^# \(pass\|fail\)'; node -e 'const v8 = require("v8"); console.log(require("fs").statSync(v8.writeHeapSnapshot("h.heapsnapshot")).size > 1e6)'
! command -v npm >/dev/null || { npm init -y --offline >/dev/null 2>&1; npm pkg set scripts.x='echo ran $npm_lifecycle_event' && npm run -s x; npm pack --silent 2>/dev/null; }
node --jitless -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; console.log(s)'
node --stack-size=200 -e 'function f(n) { return f(n + 1) } try { f(0) } catch (e) { console.log(e.name) }'
node --abort-on-uncaught-exception -e 'throw 1' 2>/dev/null; echo $?
E
exit $bad
