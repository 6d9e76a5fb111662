# the makefile: what is installed, and what is said before anything is built
load lib

setup_more() { unset MAKEFLAGS MFLAGS MAKELEVEL MAKE_TERMOUT MAKE_TERMERR DESTDIR PREFIX LIBDIR; }
# nothing is built for it
made() { DEPS=skip make -C "$TOP" --no-print-directory O="$(dirname "$B")" DESTDIR="$PWD/root" -o all "$@"; }
sections() { LC_ALL=C readelf -SW "$1" | grep -cE "$2"; }

@test "install-strip installs programs and libraries without debugging information; uninstall leaves no file" {
	[ -e "$B/libinfer.a" ] || skip "sanitizers have no library"
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
	[ -e "$B/libinfer.a" ] || skip "sanitizers have no library"
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
	grep -q '^  cmd/infer-run/main.c.o$' out
	run grep -q '\[' out
	same 1 "$status"
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
