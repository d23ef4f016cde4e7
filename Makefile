# iops - what programs really read and write
#
#   make                 build build/iops        make check      every test
#   make demo            install what is missing, build, profile a real command
#   make deps            install what the build and the tests need (Debian: apt)
#   make SAN=address,undefined check             make COV=1 check   coverage
#   make fuzz TIME=30    seconds per parser      make bench      ratios against peers
#   make cross           build for aarch64, in build/aarch64      make deps-cross   what that needs
#   make soak SCALE=1    other programs' own tests, bare and below iops; S='git go' chooses
#                        S=mount: on iops mount and on the bare folder, T=600 seconds each
#   make lint            arrows, shell, manual, format, sizes
#   make install         into $(DESTDIR)$(PREFIX)

VERSION := 0.1.0
PREFIX  ?= /usr/local
PKG     ?= pkg-config
CLANG   ?= clang
Q       := $(if $(V),,@)
SUDO    := $(if $(filter 0,$(shell id -u)),,sudo)

FUSE    ?= $(shell $(PKG) --exists fuse3 2>/dev/null && echo y)
LINKED  := libcjson smartcols libzstd
LATE    := sqlite3 avro-c nettle
PKGS    := $(LINKED) $(LATE)
DEBS    := gcc make pkg-config libcjson-dev libsmartcols-dev libzstd-dev libsqlite3-dev libavro-dev libzydis-dev \
           nettle-dev libbpf-dev bpftool clang libfuse3-dev fuse3
TESTDEBS := libcmocka-dev liburing-dev strace python3 python3-jsonschema shellcheck mandoc clang clang-format \
           libclang-rt-14-dev valgrind universal-ctags git sqlite3 musl-tools perl procps psmisc \
           redis-server redis-tools util-linux mount e2fsprogs sudo fio stress-ng fuse3 acl attr nodejs zstd blktrace $(if $(filter x86_64,$(shell uname -m)),gcc-multilib)
CROSSDEBS := libc6-dev libgcc-12-dev libcmocka-dev $(filter lib% nettle-dev,$(DEBS))
SOAKDEBS := libpython3*-testsuite golang-go default-jdk-headless luajit rsync dpkg-dev python3-fusepy g++ zlib1g-dev gdb xz-utils bzip2 \
            $(addprefix linux-headers-,$(shell dpkg --print-architecture 2>/dev/null))

# One tree of objects for each way of building.
comma   := ,
B       := build$(if $(filter-out cc gcc,$(CC)),/$(notdir $(CC)))$(if $(SAN),/$(subst $(comma),-,$(SAN)))$(if $(COV),/cov)

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wpointer-arith -Wformat=2 -Wvla -Wundef $(if $(WERROR),-Werror)
override CFLAGS += -std=gnu11 -pthread $(WARN) \
           $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
           $(if $(COV),--coverage -O0)
LIBFLAGS := $(shell $(PKG) --cflags $(PKGS) 2>/dev/null)
override CPPFLAGS += -D_GNU_SOURCE -Iinclude -I$(B) -DVERSION='"$(VERSION)"' $(LIBFLAGS) $(if $(FUSE),$(shell $(PKG) --cflags-only-I fuse3))
# All names are looked up once, not again in each process that is made, and first where
# most of them are. Addresses that move with the program take an eighth of the place.
RELR    := $(shell echo 'int main(void) { return 0; }' | $(CC) -x c - -Wl,--fatal-warnings,-z,pack-relative-relocs -o /dev/null 2>/dev/null && echo ,-z,pack-relative-relocs)
override LDFLAGS += -Wl,-z,now$(RELR)
override LDLIBS += -Wl,--push-state,--no-as-needed -lc -Wl,--pop-state $(shell $(PKG) --libs $(filter-out libzstd,$(LINKED)) 2>/dev/null) $(ZSTDLIB) $(if $(BPF),$(BPFLIBS)) $(MATHLIB) -ldl
# Linked into the program where that can be: they would make each start slower.
MATHLIB := -lm
ZSTDLIB := $(or $(filter /%,$(shell $(CC) -print-file-name=libzstd.a)),-lzstd)
BPFLIBS = $(if $(wildcard $(addprefix $(shell $(PKG) --variable=libdir libbpf)/lib,bpf.a elf.a z.a)),-Wl$(comma)-Bstatic -lbpf -lelf -lz -Wl$(comma)-Bdynamic,-lbpf -lelf -lz)
LATELIBS = $(shell $(PKG) --libs $(LATE) 2>/dev/null) $(if $(FUSE),$(shell $(PKG) --libs fuse3)) $(if $(FAST),-lZydis)

# Everything but main() is a library, so that tests can link it. Of the files that speak
# for a machine, only that of the compiler's own is taken; the fast path is for x86_64.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
NATIVE  := $(wildcard src/source/ptrace/arch/$(MACHINE).c)
FAST    := $(if $(filter x86_64,$(MACHINE)),y)
BPFTOOL := $(or $(shell command -v bpftool),$(wildcard /usr/sbin/bpftool))
BPF     := $(if $(and $(BPFTOOL),$(shell command -v $(CLANG)),$(shell $(PKG) --exists libbpf && echo y)),y)
SRC     := $(sort $(shell find src -name '*.c' ! -path '*/arch/*' ! -path '*/fast/*' ! -path '*/bpf/*' ! -path '*/fuse/*') $(NATIVE) \
           $(if $(BPF),$(filter-out %/none.c %.bpf.c,$(wildcard src/source/bpf/*.c)),src/source/bpf/none.c) \
           $(if $(FUSE),$(filter-out %/none.c,$(wildcard src/source/fuse/*.c)),src/source/fuse/none.c) \
           $(if $(FAST),$(filter-out %/none.c,$(wildcard src/source/ptrace/fast/*.c)),src/source/ptrace/fast/none.c))
ASM     := $(if $(FAST),$(wildcard src/source/ptrace/fast/*.S))
LIBOBJ  := $(patsubst %.c,$(B)/%.o,$(filter-out src/main.c,$(SRC))) $(ASM:%.S=$(B)/%.o)
OBJ     := $(LIBOBJ) $(B)/src/main.o
UNIT    := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/*.c))
FUZZ    := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(filter-out $(if $(FAST),,%/elf.c %/ring.c),$(wildcard tests/fuzz/*.c)))
HELP    := $(patsubst tests/help/%.c,$(B)/help/%,$(wildcard tests/help/*.c)) \
           $(foreach h,mkio hot,$(if $(FAST),$(B)/help/$(h)32) $(B)/help/$(h)-musl) \
           $(if $(FAST),$(B)/help/netio32 $(B)/help/births32 $(B)/help/begins-late) $(B)/help/plug1.so $(B)/help/plug2.so
NEEDED  := $(shell $(PKG) --exists $(PKGS) 2>/dev/null && echo y)

all: $(if $(NEEDED),,hint) $(if $(NATIVE),,stranger) $(B)/iops

hint:
	@echo "iops needs $(PKGS); 'make deps' installs them on Debian" >&2; exit 1

stranger:
	@echo "iops does not know $(MACHINE) yet: see src/source/ptrace/arch/arch.h" >&2; exit 1

# It only rounds, for which the library can be linked in; what others need of that, not.
$(B)/iops: MATHLIB := $(if $(or $(SAN),$(COV),$(if $(wildcard $(shell $(CC) -print-file-name=libm.a)),,y)),-lm,-Wl$(comma)-Bstatic -lm -Wl$(comma)-Bdynamic)
$(B)/iops: $(B)/src/main.o $(B)/libiops.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(B)/libiops.a: $(LIBOBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What runs in the kernel, as bytes in a header.
$(B)/programs.bpf.o: $(wildcard src/source/bpf/*.bpf.[ch] src/source/bpf/*kernel.h src/source/bpf/*records.h) $(B)/.flags
	@echo "  BPF   $@"
	$(Q)mkdir -p $(@D) && $(CLANG) -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(if $(FAST),x86,arm64) -Wall \
	   -Wno-gnu-variable-sized-type-not-at-end $(shell $(PKG) --cflags libbpf) -c src/source/bpf/programs.bpf.c -o $@
$(B)/programs.skel.h: $(B)/programs.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name programs >$@
$(B)/src/source/bpf/load.o: $(if $(BPF),$(B)/programs.skel.h)

$(B)/src/%.o: src/%.c $(B)/.flags
	@echo "  CC    $<"
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/src/%.o: src/%.S $(B)/.flags
	@echo "  AS    $<"
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# What is loaded late, by the names that the linker would have written into the program.
# Where there is nothing to link with, objects compile all the same.
$(B)/src/base/late.o: $(B)/soname.h
$(B)/soname.h: tests/soname.sh $(B)/.flags
	$(Q)$(if $(NEEDED),sh $< $(CC) $(CFLAGS) $(LDFLAGS) -Wl$(comma)--no-as-needed $(LATELIBS),:) >$@

# Rebuild all when the flags change.
$(B)/.flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || \
	 echo '$(CC) $(CPPFLAGS) $(CFLAGS)' >$@

# Tests: cmocka programs and shell scripts, all speaking TAP to prove. The helpers are
# what is traced: static, so that no loader adds calls of its own, and never sanitized.
$(B)/unit/%: tests/unit/%.c $(B)/libiops.a
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP $< $(B)/libiops.a $(LDFLAGS) -lcmocka $(LDLIBS) -o $@
$(B)/unit/test_export $(B)/unit/test_fast_text: override LDLIBS += $(LATELIBS)
HELPCC  := -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -pthread
$(B)/help/mkio $(B)/help/hot $(B)/help/netio $(B)/help/ledger $(B)/help/refused: $(B)/help/%: tests/help/%.c
	$(Q)mkdir -p $(@D) && gcc $(HELPCC) -static $< -o $@
$(B)/help/mkio32 $(B)/help/hot32 $(B)/help/netio32 $(B)/help/births32: $(B)/help/%32: tests/help/%.c
	$(Q)mkdir -p $(@D) && gcc $(HELPCC) -m32 -static $< -o $@
$(B)/help/mkio-musl $(B)/help/hot-musl: $(B)/help/%-musl: tests/help/%.c
	$(Q)mkdir -p $(@D) && musl-gcc $(HELPCC) -static $< -o $@
$(B)/help/plug%.so: tests/help/hotdl.c
	$(Q)mkdir -p $(@D) && gcc $(HELPCC) -DPLUG=$* -shared -fPIC $< -o $@
$(if $(FAST),$(B)/help/begins $(B)/help/begins-late): tests/help/begins.c
	$(Q)mkdir -p $(@D) && gcc $(HELPCC) -static -nostdlib -ffreestanding -fno-stack-protector -no-pie \
	   -Wl,--section-start=.late=0x600fc0 $(if $(findstring late,$@),-Wl$(comma)-e$(comma)late) $< -o $@
$(B)/help/hot $(B)/help/hot32 $(B)/help/hot-musl: $(wildcard tests/help/hot*.h)
$(B)/help/selfview: tests/help/selfcalls.h
$(B)/help/fsx: $(wildcard tests/help/fsx*.h)
$(B)/help/flights: $(wildcard tests/help/flights*.h)
$(B)/help/submits: $(wildcard tests/help/submits*.h)
$(B)/help/slots $(B)/help/sorts $(B)/help/ended $(B)/help/placed: tests/help/ring.h
$(patsubst %,$(B)/help/%,uring moved workers flights between appends slots sorts ended placed): $(B)/help/%: tests/help/%.c
	$(Q)mkdir -p $(@D) && gcc $(HELPCC) $< -luring -o $@
$(B)/help/%: tests/help/%.c
	$(Q)mkdir -p $(@D) && gcc $(HELPCC) $< -o $@

# No test takes this many seconds, on any machine.
LIMIT   := 900
check: deps-test
	$(Q)$(MAKE) --no-print-directory check-only

check-only: all $(UNIT) $(HELP) arrows
	$(Q)rm -f $(B)/failed; IOPS=$(CURDIR)/$(B)/iops HELP=$(CURDIR)/$(B)/help CMOCKA_MESSAGE_OUTPUT=TAP \
	   DATA=$(CURDIR)/tests/data FAILED=$(CURDIR)/$(B)/failed \
	   prove $(if $(V),-v) -e 'sh tests/within.sh $(LIMIT)' --timer $(UNIT) $(or $(T),tests/t/*.t) || { cat $(B)/failed 2>&-; exit 1; }

# For another machine: every object, and where deps-cross has unpacked its libraries the
# program and the unit tests. Its gcc cannot be installed beside gcc-multilib, clang can.
# An emulator of programs has no ptrace, a /proc of its own, and no execve(2) by threads.
CROSS   := aarch64
CROSSGCC := $(shell command -v $(CROSS)-linux-gnu-gcc)
ROOT    := $(wildcard $(CURDIR)/build/$(CROSS)-root)
QEMU    := $(shell command -v qemu-$(CROSS)-static)
cross:
	$(Q)$(MAKE) --no-print-directory cross-only B=build/$(CROSS) WERROR=1 SAN= COV= \
	   CC='$(or $(CROSSGCC),$(CLANG) --target=$(CROSS)-linux-gnu)$(ROOT:%= --sysroot=%)' \
	   CPPFLAGS='$(if $(ROOT),,$(LIBFLAGS))' LDFLAGS='$(if $(CROSSGCC),,-fuse-ld=lld)' \
	   PKG='env PKG_CONFIG_SYSROOT_DIR=$(ROOT) PKG_CONFIG_LIBDIR=$(ROOT)/usr/lib/$(CROSS)-linux-gnu/pkgconfig $(PKG)'
cross-only: $(if $(NEEDED),$(B)/iops $(UNIT),$(OBJ))
	$(if $(and $(NEEDED),$(QEMU)),$(Q)QEMU_LD_PREFIX=$(ROOT) CMOCKA_MESSAGE_OUTPUT=TAP \
	   DATA=$(CURDIR)/tests/data prove -j2 -e $(QEMU) $(filter-out %/test_fdtab %/test_process,$(UNIT)))

# A fuzzer for each reader of foreign or saved bytes; real ones in tests/data are its seeds.
FB      := build/$(notdir $(CLANG))/fuzzer-no-link-address-undefined
fuzzlib:
	$(Q)$(MAKE) --no-print-directory CC=$(CLANG) SAN=fuzzer-no-link,address,undefined COV= $(FB)/libiops.a
build/fuzz/%: tests/fuzz/%.c tests/fuzz/fuzz.h fuzzlib
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
	   -fno-sanitize-recover=all $< $(FB)/libiops.a $(LDLIBS) -o $@
fuzz: $(FUZZ)
	$(Q)for f in $^; do mkdir -p $$f.corpus && \
	   $$f -max_total_time=$(or $(TIME),30) -artifact_prefix=$$f. -verbosity=0 -print_final_stats=1 \
	      $$f.corpus tests/data 2>&1 | grep -v '^INFO\|^stat::\(new\|slow\)' && \
	   ! ls $$f.crash-* $$f.oom-* $$f.timeout-* $$f.leak-* 2>/dev/null | grep . || exit 1; done

$(B)/bench: tests/bench/stats.c $(B)/libiops.a
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $^ $(LDLIBS) -o $@
bench: all $(HELP) $(B)/bench
	$(Q)IOPS=$(CURDIR)/$(B)/iops HELP=$(CURDIR)/$(B)/help BENCH=$(CURDIR)/$(B)/bench sh tests/bench/run.sh
	$(Q)IOPS=$(CURDIR)/$(B)/iops HELP=$(CURDIR)/$(B)/help sh tests/bench/fast.sh
	$(Q)IOPS=$(CURDIR)/$(B)/iops HELP=$(CURDIR)/$(B)/help sh tests/bench/bpf.sh
	$(Q)IOPS=$(CURDIR)/$(B)/iops HELP=$(CURDIR)/$(B)/help sh tests/bench/mount.sh

# IOPS_FLAGS are more options for iops run.
soak: all $(B)/help/fsx
	$(Q)sh tests/deps.sh "$(SUDO)" $(TESTDEBS) $(SOAKDEBS)
	$(Q)IOPS=$(CURDIR)/$(B)/iops HELP=$(CURDIR)/$(B)/help SCALE=$(or $(SCALE),1) sh tests/soak/run.sh $(S)

# Arrows go one way: no cycle among objects, and no room looks into its neighbour.
arrows: $(OBJ)
	$(Q)sh tests/arrows.sh $^

lint: arrows
	shellcheck -x tests/*.sh tests/t/*.t tests/bench/*.sh tests/soak/*.sh .ci/run
	mandoc -Tlint -Wwarning man/*.[15]
	clang-format --dry-run -Werror $$(find src include -name '*.[ch]')
	sh tests/sizes.sh
	for h in include/iops/*.h; do $(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -Werror -fsyntax-only -x c $$h || exit 1; done

demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(B)/iops run -H -- sh -c 'tar cf - /usr/include/linux 2>/dev/null | gzip -1 >/tmp/iops-demo.tgz; rm /tmp/iops-demo.tgz'

deps:
	$(Q)sh tests/deps.sh "$(SUDO)" $(DEBS)
deps-test:
	$(Q)sh tests/deps.sh "$(SUDO)" $(DEBS) $(TESTDEBS)
deps-cross:
	$(Q)sh tests/deps.sh "$(SUDO)" $(DEBS) clang lld perl qemu-user-static
	$(Q)sh tests/crossroot.sh arm64 build/$(CROSS)-root $(CROSSDEBS)

install: all
	install -Dm755 $(B)/iops $(DESTDIR)$(PREFIX)/bin/iops
	install -Dm644 man/iops.1 $(DESTDIR)$(PREFIX)/share/man/man1/iops.1
	install -Dm644 man/iops-log.5 $(DESTDIR)$(PREFIX)/share/man/man5/iops-log.5
	install -Dm644 share/report-1.schema.json $(DESTDIR)$(PREFIX)/share/iops/report-1.schema.json
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/iops $(DESTDIR)$(PREFIX)/share/man/man1/iops.1 \
	   $(DESTDIR)$(PREFIX)/share/man/man5/iops-log.5
	rm -rf $(DESTDIR)$(PREFIX)/share/iops
dist:
	git archive --prefix=iops-$(VERSION)/ -o iops-$(VERSION).tar.gz HEAD
clean:
	rm -rf build

FORCE:
.PHONY: all hint stranger check check-only cross cross-only fuzz fuzzlib bench soak arrows lint demo deps deps-test deps-cross install uninstall dist clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
-include $(OBJ:.o=.d) $(addsuffix .d,$(UNIT))
