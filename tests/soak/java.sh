#!/bin/sh
# Java: channels, threads, loops that are compiled while they run; javac as well.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need javac=default-jdk-headless java=default-jdk-headless

cat >"$DIR/Main.java" <<'E'
import java.io.*; import java.net.*; import java.nio.*; import java.nio.channels.*; import java.nio.file.*; import java.nio.file.attribute.*;
import java.security.*; import java.util.*; import java.util.concurrent.*; import java.util.concurrent.atomic.*; import java.util.stream.*; import java.util.zip.*;
import static java.nio.file.StandardOpenOption.*;

public class Main {
	static int scale = Integer.parseInt(System.getenv("SCALE"));
	static String hex(byte[] b) { return new java.math.BigInteger(1, b).toString(16); }
	static int hot(byte[] b, int seed) { int s = seed; for (int i = 0; i < b.length; i++) s = s * 31 + (b[i] ^ i); return s; }
	public static void main(String[] a) throws Exception {
		AtomicLong total = new AtomicLong(); ExecutorService pool = Executors.newFixedThreadPool(16); List<Future<Integer>> fs = new ArrayList<>();
		for (int t = 0; t < 16; t++) { int id = t; fs.add(pool.submit(() -> {
			Path p = Paths.get("f" + id); int sum = 0; ByteBuffer d = ByteBuffer.allocateDirect(777), h = ByteBuffer.allocate(333);
			try (FileChannel c = FileChannel.open(p, CREATE, READ, WRITE)) {
				for (int i = 0; i < 100 + 900 * scale; i++) {
					d.clear(); while (d.hasRemaining()) d.put((byte) (i + id)); d.flip(); total.addAndGet(c.write(d));
					h.clear(); c.read(h, (long) i * 555 % c.size()); sum = hot(h.array(), sum);
					if (i % 50 == 0) { h.clear(); d.clear(); c.write(new ByteBuffer[]{h, d}); } if (i % 200 == 0) c.force(false);
				}
				MappedByteBuffer m = c.map(FileChannel.MapMode.READ_WRITE, 0, 4096); for (int i = 0; i < 4096; i++) m.put(i, (byte) 7); m.force();
				try (FileChannel o = FileChannel.open(Paths.get("g" + id), CREATE, WRITE)) { c.transferTo(0, c.size(), o); }
			}
			return sum; })); }
		for (Future<Integer> f : fs) System.out.println("file " + f.get());
		System.out.println("written " + total);
		MessageDigest md = MessageDigest.getInstance("SHA-1"); for (int t = 0; t < 16; t++) md.update(Files.readAllBytes(Paths.get("g" + t))); System.out.println(hex(md.digest()));

		AsynchronousFileChannel af = AsynchronousFileChannel.open(Paths.get("async"), CREATE, READ, WRITE); List<Future<Integer>> w = new ArrayList<>();
		for (int i = 0; i < 200; i++) w.add(af.write(ByteBuffer.wrap(("line " + i + "\n").getBytes()), i * 20L)); int n = 0; for (Future<Integer> f : w) n += f.get(); System.out.println("async " + n + " " + af.size()); af.close();

		try (Selector sel = Selector.open(); ServerSocketChannel ss = ServerSocketChannel.open()) {
			ss.bind(new InetSocketAddress("127.0.0.1", 0)); ss.configureBlocking(false); ss.register(sel, SelectionKey.OP_ACCEPT); AtomicBoolean stop = new AtomicBoolean();
			Thread srv = new Thread(() -> { try { ByteBuffer b = ByteBuffer.allocate(4096); while (!stop.get()) { sel.select(50); for (SelectionKey k : sel.selectedKeys()) if (k.isAcceptable()) { SocketChannel c = ss.accept(); c.configureBlocking(false); c.register(sel, SelectionKey.OP_READ); } else { SocketChannel c = (SocketChannel) k.channel(); b.clear(); if (c.read(b) < 0) { c.close(); continue; } b.flip(); while (b.hasRemaining()) c.write(b); } sel.selectedKeys().clear(); } } catch (Exception e) { System.out.println(e); } }); srv.start();
			List<Future<Long>> cl = new ArrayList<>(); int port = ss.socket().getLocalPort();
			for (int t = 0; t < 8; t++) cl.add(pool.submit(() -> { long s = 0; try (Socket c = new Socket("127.0.0.1", port)) { byte[] b = new byte[500]; for (int i = 0; i < 100; i++) { c.getOutputStream().write(b); s += c.getInputStream().readNBytes(500).length; } } return s; }));
			long s = 0; for (Future<Long> f : cl) s += f.get(); System.out.println("echo " + s); stop.set(true); srv.join();
		}
		Thread r = new Thread(() -> { try (FileChannel c = FileChannel.open(Paths.get("f0"))) { ByteBuffer b = ByteBuffer.allocate(1); while (true) c.read(b.clear(), 0); } catch (ClosedByInterruptException e) { System.out.println("interrupted"); } catch (IOException e) { System.out.println(e); } }); r.start(); Thread.sleep(200); r.interrupt(); r.join();

		byte[] big = new byte[1 << 16]; int x = 0; for (int i = 0; i < 2000; i++) x = hot(big, x + i); System.out.println("hot " + x);
		int npe = 0; for (int i = 0; i < 200000; i++) { Object o = i % 3 == 0 ? null : "x"; try { npe += o.hashCode() & 1; } catch (NullPointerException e) { npe++; } } System.out.println("npe " + npe);
		try { deep(0); } catch (StackOverflowError e) { System.out.println("overflow"); }
		List<byte[]> junk = new ArrayList<>(); for (int i = 0; i < 20000; i++) { junk.add(new byte[4096]); if (junk.size() > 2000) junk.clear(); } System.gc();

		for (int i = 0; i < 10; i++) { Process p = new ProcessBuilder("sh", "-c", "cat; exit " + i).start(); p.getOutputStream().write(new byte[1000 * i]); p.getOutputStream().close(); System.out.println("child " + p.getInputStream().readAllBytes().length + " " + p.waitFor()); }
		Process k = new ProcessBuilder("sleep", "100").start(); k.destroy(); System.out.println("killed " + k.waitFor());
		try { new ProcessBuilder("nosuchprogram").start(); } catch (IOException e) { System.out.println(e.getMessage()); }
		try (ZipOutputStream z = new ZipOutputStream(new FileOutputStream("z.zip"))) { for (int t = 0; t < 4; t++) { ZipEntry e = new ZipEntry("f" + t); e.setTime(0); z.putNextEntry(e); Files.copy(Paths.get("f" + t), z); } }
		try (FileSystem z = FileSystems.newFileSystem(Paths.get("z.zip")); Stream<Path> l = Files.list(z.getPath("/"))) { System.out.println("zip " + l.sorted().map(Path::toString).collect(Collectors.joining(","))); }
		WatchService ws = FileSystems.getDefault().newWatchService(); Paths.get(".").register(ws, StandardWatchEventKinds.ENTRY_CREATE); Files.createFile(Paths.get("new")); System.out.println("watch " + (ws.poll(5, TimeUnit.SECONDS) != null));
		System.out.println("parallel " + IntStream.range(0, 400).parallel().map(i -> { try { Path p = Files.createTempFile("x", "y"); Files.writeString(p, "z".repeat(i)); int s = (int) Files.size(p); Files.delete(p); return s; } catch (IOException e) { return -1000000; } }).sum());
		try { Files.readAllBytes(Paths.get("nosuch")); } catch (NoSuchFileException e) { System.out.println(e); }
		try { new FileOutputStream("/dev/full").write(1); } catch (IOException e) { System.out.println(e.getMessage()); }
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook"))); pool.shutdown(); System.exit(5);
	}
	static int deep(int n) { return deep(n + 1) + 1; }
}
E
export MAIN="$DIR/Main.java"
compiled() {	# name options: compiled and run with these
	export OPT="$2"
	pair "$1" <<'E'
cp "$MAIN" . && javac -J-XX:-UsePerfData Main.java && sha256sum Main.class && java -XX:-UsePerfData $OPT Main
E
}
compiled "javac, java" ""
! wide || compiled "... interpreted" -Xint
if wide; then
	compiled "... first compiler, serial" "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
	compiled "... all compiled first" "-Xcomp -XX:+UseParallelGC"
	compiled "... ZGC" -XX:+UseZGC
fi
wide && pair "jar, jshell, thread dump" <<'E'
cp "$MAIN" Main.java; javac Main.java && printf 'Main-Class: Main\n' >m && jar cfm m.jar m ./*.class && jar tf m.jar | sort && mkdir r && cd r && java -XX:+UseG1GC -jar ../m.jar | tail -3
printf 'int x = 6 * 7;\nSystem.out.println(x);\nFiles.writeString(Paths.get("j"), "abc")\n/exit\n' | jshell -s - 2>&1
cat >W.java <<'J'
public class W { public static void main(String[] a) throws Exception { System.out.println("up"); Thread.sleep(100000); } }
J
javac W.java; java W >w.out 2>&1 & until grep -q up w.out 2>/dev/null; do sleep 0.1; done; kill -QUIT $!; sleep 1; kill -TERM $!; wait $!; echo $?; grep -c 'Full thread dump' w.out
E
exit $bad
