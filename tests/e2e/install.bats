# the makefile: what is installed, and what is said before anything is built
load lib

setup_more() { unset MAKEFLAGS MFLAGS MAKELEVEL MAKE_TERMOUT MAKE_TERMERR DESTDIR PREFIX LIBDIR; }
# nothing is built for it
made() { DEPS=skip make -C "$TOP" --no-print-directory O="$(dirname "$B")" DESTDIR="$PWD/root" -o all "$@"; }
sections() { LC_ALL=C readelf -SW "$1" | grep -cE "$2"; }

@test "install-strip installs programs and libraries without debugging information; uninstall leaves no file" {
	[ -e "$B/libinfer.a" ] || skip "needs a build without sanitizers, which make no library"
	made install-strip
	for p in infer-run infer-inspect infer-bench infer-quant infer-serve; do
		f=root/usr/local/bin/$p
		same 0 "$(sections "$f" '\.debug_|\.symtab')"
		[ "$(stat -c %s "$f")" -lt "$(stat -c %s "$B/$p")" ]
		same "$("$B/$p" --version)" "$("$f" --version)"
	done
	same "$("$B/infer-run" -q -m demo --temp 0 -n 8 --no-stdin Hello)" "$(root/usr/local/bin/infer-run -q -m demo --temp 0 -n 8 --no-stdin Hello)"
	for l in libinfer.so.0 libinfer.a; do
		same 0 "$(sections "root/usr/local/lib/$l" '\.debug_info')"
	done
	names() { nm "$@" | sed -n 's/.* [TDR] //p' | sort; }
	[ "$(names -D "$B/libinfer.so.0" | grep -c '^infer_')" -gt 10 ]
	names -D "$B/libinfer.so.0" >a
	names -D root/usr/local/lib/libinfer.so.0 | cmp - a
	names "$B/libinfer.a" >a
	names root/usr/local/lib/libinfer.a | cmp - a
	made uninstall
	[ -z "$(find root ! -type d)" ]
}

@test "install leaves what debuggers read, and uninstall no file" {
	[ -e "$B/libinfer.a" ] || skip "needs a build without sanitizers, which make no library"
	made install
	cmp "$B/infer-run" root/usr/local/bin/infer-run
	[ -e root/usr/local/share/man/man7/infer.7 ]
	made uninstall
	[ -z "$(find root ! -type d)" ]
}

@test "make stops before it builds where something is missing, and names the packages" {
	mkdir bin
	printf '#!/bin/sh\nexit 1\n' >bin/pkg-config
	# a compiler that does not find the header of libedit
	printf '#!/bin/sh\n[ "$*" != "-E -xc -" ] || ! grep -q histedit.h\n' >bin/cc
	chmod +x bin/*
	for goal in '' all install; do
		# shellcheck disable=SC2086
		run env PATH="$PWD/bin:$PATH" DEPS= make -C "$TOP" --no-print-directory O="$PWD/new" CC=cc $goal
		same 2 "$status"
		[[ $output == *'deps: missing: libpcre2-8 libzstd yaml-0.1 histedit.h'* ]]
		[[ $output == *libpcre2-dev\ libzstd-dev\ libyaml-dev\ libedit-dev* ]]
		[[ $output == *'stopped; DEPS=skip goes on without them'* ]]
		[ ! -e new ]
	done
}

@test "make demo takes all cores, counts what it builds on one line of a terminal, and ends with commands that work" {
	# a compiler and an archiver that make empty files, and a program that echoes
	mkdir bin
	cat >bin/cc <<-'END'
		#!/bin/sh
		[ -z "$MAKELEVEL" ] || echo "$MAKEFLAGS" >>"$SAW"
		last=
		for i; do
			[ "$last" != -o ] || { printf '#!/bin/sh\necho "answer of $#"\n' >"$i"; chmod +x "$i"; }
			last=$i
		done
	END
	printf '#!/bin/sh\n: >"$2"\n' >bin/ar
	chmod +x bin/*
	export SAW=$PWD/saw DEPS=skip
	d() { env PATH="$PWD/bin:$PATH" make -C "$TOP" --no-print-directory O="$PWD/new" CC=cc AR=ar CUDA=0 "$@"; }
	d demo >out
	grep -q -- "-j$(nproc)" saw
	# the time, twenty lines, the last of them all
	grep -qE "^building [0-9]+ files on $(nproc) cores?: about (a minute|[0-9]+ minutes)\$" out
	n=$(sed -n 's/^building \([0-9]*\) files.*/\1/p' out)
	same "[$n/$n] infer-run" "$(grep '^\[' out | tail -n 1)"
	[ "$(grep -c '^\[' out)" -le 22 ]
	same 2 "$(grep -c '^answer of' out)"
	same "$PWD/new/$(basename "$B")/infer-run -i" "$(sed -n 's/ *# talk.*//p' out)"
	tail -n 1 out | grep -q 'make install  *# into /usr/local$'
	rm saw new/*/cmd/infer-run/main.c.o
	d -j3 demo >out
	grep -q -- '-j3' saw
	run grep -q -- "-j$(nproc)" saw
	[ "$(nproc)" = 3 ] || same 1 "$status"
	rm -r new
	script -qec "env PATH='$PWD/bin:$PATH' make -C '$TOP' --no-print-directory O='$PWD/new' CC=cc AR=ar CUDA=0 demo" typescript >/dev/null
	tr '\r' '\n' <typescript >lines
	n=$(sed -n 's/^\[1\/\([0-9]*\)\].*/\1/p' lines)
	[ "$n" -gt 100 ]
	grep -q "^\[$n/$n\] *infer-run *$" lines
}

@test "make counts what it builds, says at the start how long that takes, and shows commands with V=1" {
	mkdir bin
	cat >bin/cc <<-'END'
		#!/bin/sh
		last=
		for i; do
			[ "$last" != -o ] || : >"$i"
			last=$i
		done
	END
	printf '#!/bin/sh\n: >"$2"\n' >bin/ar
	printf '#!/bin/sh\n: >"$3"\n' >bin/objcopy
	chmod +x bin/*
	export DEPS=skip
	d() { env PATH="$PWD/bin:$PATH" make -C "$TOP" --no-print-directory O="$PWD/new" CC=cc AR=ar OBJCOPY=objcopy CUDA=0 SAN= "$@"; }
	d -j2 >out
	n=$(sed -n 's/^building \([0-9]*\) files on [12] cores\{0,1\}: about [0-9]* minutes.*/\1/p' out)
	[ "$n" -gt 300 ]
	grep -qE "^\[$n/$n\] [a-zA-Z.0-9/-]+$" out
	same "$PWD/new/release: infer-bench infer-inspect infer-quant infer-run infer-serve" "$(tail -n 1 out)"
	[ "$(wc -l <out)" -le 26 ]
	# nothing to do is said by nothing; what is made again is counted, each with a line
	d >out
	[ ! -s out ]
	rm new/release/infer-run new/release/cmd/infer-run/main.c.o
	d -s >out
	[ ! -s out ]
	rm new/release/infer-run new/release/cmd/infer-run/main.c.o
	d >out
	head -n 2 out | diff <(printf '[1/2] cmd/infer-run/main.c.o\n[2/2] infer-run\n') -
	rm new/release/infer-run
	d V=1 >out
	grep -q '^cc .* -o .*new/release/infer-run ' out
	# all is built again if the flags are others, and that is said
	d CFLAGS=-O1 "$PWD/new/release/cmd/infer-run/main.c.o" >out
	same "$PWD/new/release: the compiler or its flags are not those of the last build: all is built again" "$(head -n 1 out)"
	d CFLAGS=-O1 "$PWD/new/release/cmd/infer-run/main.c.o" >out
	[ ! -s out ]
	d -s CFLAGS=-O2 "$PWD/new/release/cmd/infer-run/main.c.o" >out
	[ ! -s out ]
	# one core where no -j is given
	same 'building 100 files on 1 core: about a minute' "$("$TOP/scripts/how-long" 100 1 | sed 's/ (make -j.*//')"
	same 'building 10000 files on 1 core: about 59 minutes' "$("$TOP/scripts/how-long" 10000 '' | sed 's/ (make -j.*//')"
	same 'building 50 files on 1 core' "$("$TOP/scripts/how-long" 50 1 thread | sed 's/ (make -j.*//')"
}

@test "make deb: the programs, their pages, completions and units, what they depend on, and the same bytes again" {
	[ -e "$B/libinfer.a" ] || skip "needs a build without sanitizers"
	command -v dpkg-shlibdeps >/dev/null || skip "needs dpkg-shlibdeps (package dpkg-dev)"
	# a build directory of its own, with the programs of this one
	mkdir b c
	for d in b c; do ln -s "$B"/infer-* $d/; done
	cd "$TOP"
	export DPKG_DEB_COMPRESSOR_TYPE=none
	deb=$(scripts/mk-deb "$BATS_TEST_TMPDIR/b" 1.2.3 '')
	deb2=$(scripts/mk-deb "$BATS_TEST_TMPDIR/c" 1.2.3 '')
	cd "$BATS_TEST_TMPDIR"
	same "$BATS_TEST_TMPDIR/b/inferutils_1.2.3_$(dpkg --print-architecture).deb" "$deb"
	cmp "$deb" "$deb2"
	field() { dpkg-deb -f "$deb" "$1"; }
	same inferutils "$(field Package)"
	[[ $(field Depends) =~ libc6\ \(.*libmicrohttpd.*libopenblas.*libpcre2.*libyaml.*libzstd.*libcurl4.*libedit2 ]]
	dpkg-deb -x "$deb" root
	dpkg-deb -e "$deb" control
	(cd root && md5sum --quiet -c ../control/md5sums)
	same "$(cd root && find usr -type f | sort)" "$(awk '{ print $2 }' control/md5sums | sort)"
	[ -z "$(find root -perm /022)" ]
	same "$("$B/infer-run" -q -m demo --temp 0 -n 8 --no-stdin Hello)" "$(root/usr/bin/infer-run -q -m demo --temp 0 -n 8 --no-stdin Hello)"
	for p in infer-run infer-inspect infer-bench infer-quant infer-serve; do
		same "$("$B/$p" --version)" "$("root/usr/bin/$p" --version)"
		same 0 "$(sections "root/usr/bin/$p" '\.debug_|\.symtab')"
		gzip -dc "root/usr/share/man/man1/$p.1.gz" | grep -q '^\.Nm '"$p"
		cmp "$TOP/completions/infer.bash" "root/usr/share/bash-completion/completions/$p"
	done
	(cd root/usr/share/man && for f in */*; do gzip -dc "$f" | mandoc -Tlint -Wwarning >/dev/null || exit; done)
	grep -q '^ExecStart=/usr/bin/infer-serve ' root/usr/share/doc/inferutils/examples/infer-serve.service
	same "$(grep -c . "$TOP/LICENSE")" "$(sed '1,/^License: MIT/d' root/usr/share/doc/inferutils/copyright | sed '1,/^License: MIT/d' | grep -cv '^ \.$')"
	# that of a build with CUDA takes its place
	cd "$TOP"
	deb=$(scripts/mk-deb "$BATS_TEST_TMPDIR/b" 1.2.3 1)
	same inferutils-cuda "$(field Package)"
	same inferutils "$(field Conflicts)"
}
