# the checks of the tree find what they are there to find
load lib

setup()
{
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p libcore/base libcore/file libcore/include/infer cmd tests
	cp "$TOP/libcore/FLOORS" libcore/
}

@test "check-size finds a long function, a long file, a long header; tables and reasons excuse" {
	{ echo 'int f(void)'; echo '{'; yes '	;' | head -n 58; echo '}'; } >libcore/base/a.c
	"$TOP/scripts/check-size"
	{ echo 'int f(void)'; echo '{'; yes '	;' | head -n 59; echo '}'; } >libcore/base/a.c
	run -1 "$TOP/scripts/check-size"
	{ echo 'int f(void) /* long: one switch */'; echo '{'; echo '	/* long: one switch */'; yes '	;' | head -n 90; echo '}'; } >libcore/base/a.c
	"$TOP/scripts/check-size"
	yes '/* */' | head -n 601 >libcore/base/a.c
	run -1 "$TOP/scripts/check-size"
	{ echo 'static const int t[] = {'; yes '	1,' | head -n 900; echo '};'; } >libcore/base/a.c
	"$TOP/scripts/check-size"
	yes '/* */' | head -n 201 >libcore/base/a.h
	run -1 "$TOP/scripts/check-size"
}

@test "check-size finds a file that is too large to keep, outside of the build" {
	mkdir build
	truncate -s 1M build/out.gguf
	"$TOP/scripts/check-size"
	truncate -s 1M out.gguf
	run -1 "$TOP/scripts/check-size"
	[[ $output == *'out.gguf: larger than 256 KiB'* ]]
}

@test "check-format finds what the formatter would write otherwise" {
	command -v clang-format-14 >/dev/null || skip "needs clang-format-14 (package clang-format-14)"
	cp "$TOP/.clang-format" .
	echo 'int  f;' >libcore/base/a.c
	run -1 "$TOP/scripts/check-format"
	[[ $output == *'base/a.c:1'* ]]
	echo 'int f;' >libcore/base/a.c
	"$TOP/scripts/check-format"
	echo 'int  f;' >libcore/base/a_list.h
	"$TOP/scripts/check-format"
}

@test "check-layers finds a row that no list has a line for" {
	echo 'extern const int format_x; const int format_x = 1;' >libcore/file/x.c
	mkdir -p b/libcore/file
	gcc -c -o b/libcore/file/x.c.o libcore/file/x.c
	B=$PWD/b run -1 "$TOP/scripts/check-layers"
	[[ $output == *'libcore/file/x.c.o: nobody asks for format_x: no list has a line for it'* ]]
	echo 'extern const int format_x, api_z; const int format_x = 1, api_z = 1;' >libcore/file/x.c
	gcc -c -o b/libcore/file/x.c.o libcore/file/x.c
	B=$PWD/b run -1 "$TOP/scripts/check-layers"
	[[ $output == *'nobody asks for api_z'* ]]
	echo 'extern const int format_x; const int format_x = 1;' >libcore/file/x.c
	gcc -c -o b/libcore/file/x.c.o libcore/file/x.c
	echo 'extern const int format_x; int use(void); int use(void) { return format_x; }' >libcore/file/y.c
	gcc -c -o b/libcore/file/y.c.o libcore/file/y.c
	B=$PWD/b "$TOP/scripts/check-layers"
	echo 'FORMAT(x)' >libcore/file/format_list.h
	B=$PWD/b run -1 "$TOP/scripts/check-layers"
	[[ $output == *'the format x has no fuzz target tests/fuzz/x.c'* ]]
}

@test "check-heads finds a file without its headline" {
	echo '/* base/a.c - what it is. */' >libcore/base/a.c
	echo '/* infer/a.h - what it is.   floor: base */' >libcore/include/infer/a.h
	mkdir -p cmd/infer-a/part libcore/kern
	echo '/* infer-a/part/b.h (private) - what it is. */' >cmd/infer-a/part/b.h
	echo 'int x;' >libcore/kern/x.c
	"$TOP/scripts/check-heads"
	echo '/* What it is. */' >libcore/base/a.c
	run -1 "$TOP/scripts/check-heads"
	[[ $output == 'libcore/base/a.c: '*'base/a.c - subject'* ]]
}

@test "check-form finds sizeof in the other form" {
	for good in 'sizeof x' 'sizeof *x' 'sizeof(struct s)' 'sizeof(uint8_t[4])' 'sizeof(infer_error *)' 'sizeof (x)[0]'; do
		echo "size_t n = $good;" >libcore/base/a.c
		"$TOP/scripts/check-form"
	done
	for bad in 'sizeof(x)' 'sizeof(*x->at)' 'sizeof (struct s)' 'sizeof x / sizeof(x[0])'; do
		printf '\nsize_t n = %s;\n' "$bad" >libcore/base/a.c
		run -1 "$TOP/scripts/check-form"
		[[ $output == 'libcore/base/a.c:2: sizeof x'* ]]
	done
}

@test "check-form finds an include of the project behind one of the system" {
	printf '#include "base/a.h"\n#include <infer/status.h>\n\n#include <stdio.h>\n' >libcore/base/a.c
	"$TOP/scripts/check-form"
	printf '#include <stdio.h>\n#include "base/a.h"\n' >libcore/base/a.c
	run -1 "$TOP/scripts/check-form"
	[[ $output == 'libcore/base/a.c:2: an include of the project'* ]]
}

@test "check-names finds a static name that more than three files define" {
	for f in a b c; do echo 'static int fill(int n) { return n; }' >libcore/base/$f.c; done
	"$TOP/scripts/check-names"
	printf 'static struct x *\nother(void);\nstatic void fill(struct x *x,\n                 int n)\n{\n}\n' >libcore/file/d.c
	run ! "$TOP/scripts/check-names"
	[[ $output == 'fill: static in 4 files: '*libcore/file/d.c* ]]
	mkdir -p libcore/kern/x
	mv libcore/file/d.c libcore/kern/x/
	"$TOP/scripts/check-names"
}

@test "check-prose finds a comment that has to be read twice, and an excuse without its sentence" {
	mkdir scripts
	: >scripts/prose.allow
	echo '/* base/a.c - Return the number of pages.  Return 0 if there is none. */' >libcore/base/a.c
	"$TOP/scripts/check-prose"
	for bad in 'What a page holds.' 'The page behind it.' 'The bytes come in pieces.' 'The page knows its owner.' 'p is no page.'; do
		echo "/* base/a.c - x.  $bad */" >libcore/base/a.c
		run -1 "$TOP/scripts/check-prose"
		[[ $output == "libcore/base/a.c:1: "*"$bad" ]]
	done
	echo 'int f(void) { return err_set(err, 1, "%s: is no page", name); }' >libcore/base/a.c
	run -1 "$TOP/scripts/check-prose"
	[[ $output == *'is no: %s: is no page' ]]
	echo 'libcore/base/a.c: is no page' >scripts/prose.allow
	"$TOP/scripts/check-prose"
	: >libcore/base/a.c
	run -1 "$TOP/scripts/check-prose"
	[[ $output == 'scripts/prose.allow: no such sentence any more: '* ]]
}

@test "check-layers finds an include and a symbol of a higher floor" {
	echo '#include "file/file.h"' >libcore/base/a.c
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'base/a.c'*'not below'* ]]
	echo '/* base/in.h (private) - x */' >libcore/base/in.h
	echo '#include "base/in.h"' >libcore/file/b.c
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'file/b.c'*'a private header of another module'* ]]
	rm libcore/base/in.h
	: >libcore/file/b.c
	mkdir -p cmd/infer-a/part
	echo '#include "infer-b/b.h"' >cmd/infer-a/part/c.c
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'infer-a/part/c.c'*'not below'* ]]
	echo '#include "infer-a/a.h"' >cmd/infer-a/part/c.c
	printf 'int file_x(void);\nint base_y(void) { return file_x(); }\n' >libcore/base/a.c
	printf 'int file_x(void) { return 1; }\n' >libcore/file/b.c
	for f in base/a file/b; do cc -c -o "libcore/$f.c.o" "libcore/$f.c"; done
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'uses file_x'* ]]
	printf 'int base_y(void) { return 1; }\n' >libcore/base/a.c
	cc -c -o libcore/base/a.c.o libcore/base/a.c
	B=$PWD "$TOP/scripts/check-layers"
	# a row of the list of formats, which file.c calls through its slots, may be of a higher floor
	mkdir -p libcore/top
	echo 'top top' >>libcore/FLOORS
	echo 'extern const int format_x; const int format_x = 1;' >libcore/top/x.c
	echo 'extern const int format_x; int file_z(void) { return format_x; }' >libcore/file/file.c
	for f in top/x file/file; do cc -c -o "libcore/$f.c.o" "libcore/$f.c"; done
	B=$PWD "$TOP/scripts/check-layers"
	mv libcore/file/file.c libcore/file/other.c
	mv libcore/file/file.c.o libcore/file/other.c.o
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'file/other.c.o: uses format_x: defined in top'* ]]
}

@test "check-layers finds what a room of a program may not include or call" {
	mkdir -p cmd/infer-a/low cmd/infer-a/high
	printf '# rooms\nlow\nhigh low\n' >cmd/infer-a/ROOMS
	echo '#include "infer-a/low/a.h"' >cmd/infer-a/high/b.c
	: >cmd/infer-a/low/a.h
	cc -c -o cmd/infer-a/high/b.c.o -Icmd cmd/infer-a/high/b.c
	B=$PWD "$TOP/scripts/check-layers"
	echo '#include "infer-a/high/b.h"' >cmd/infer-a/low/a.c
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'infer-a/low/a.c:1: cmd/infer-a/ROOMS: low may not include high'* ]]
	echo '#include "infer-a/main.h"' >cmd/infer-a/low/a.c
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'low may not include the files of no room'* ]]
	echo 'int high_b(void); int low_a(void) { return high_b(); }' >cmd/infer-a/low/a.c
	echo 'int high_b(void) { return 1; }' >cmd/infer-a/high/b.c
	for f in low/a high/b; do cc -c -o "cmd/infer-a/$f.c.o" "cmd/infer-a/$f.c"; done
	B=$PWD run -1 "$TOP/scripts/check-layers"
	[[ $output == *'infer-a/low/a.c.o: uses high_b: cmd/infer-a/ROOMS: low may not call high'* ]]
}

@test "check-endpoints finds an endpoint without its manual entry or its test" {
	mkdir -p cmd/infer-serve/endpoints tests man
	cp -r "$TOP/tests/e2e" tests/
	cp "$TOP/man/infer-serve.1" man/
	list=cmd/infer-serve/endpoints/endpoint_list.h
	cp "$TOP/$list" $list
	"$TOP/scripts/check-endpoints"
	printf '%s\n' 'EP(GET, "/uptime", uptime, NULL, EP_QUICK, "GET /uptime", "serve")' \
		'EP(GET, "/later", later, NULL, EP_QUICK, "GET /load", "nothing")' >>$list
	sed -i '/"\/version"/d' $list
	run -1 "$TOP/scripts/check-endpoints"
	same "$list: GET /uptime: man/infer-serve.1 has no entry that begins with 'GET /uptime'
$list: GET /uptime: tests/e2e/serve.bats does not ask for it
$list: GET /later: the entry 'GET /load' of man/infer-serve.1 does not name it
$list: GET /later: tests/e2e/nothing.bats does not ask for it
man/infer-serve.1: the entry 'GET /version' names GET /version, which has no row in $list" "$output"
}

@test "check-kernels names what a kernel set lacks" {
	mkdir -p libcore/kern/x man
	echo '.Cm x ,' >man/infer-run.1
	printf '#ifdef KERN_x\nKERN(x)\n#endif\n' >libcore/kern/isa_list.h
	echo '-O2' >libcore/kern/x/cflags
	printf 'const struct kern kern_x = {\n\t.name = "x",\n};\n' >libcore/kern/x/table.c
	"$TOP/scripts/check-kernels"
	for f in libcore/kern/x/cflags libcore/kern/x/table.c libcore/kern/isa_list.h man/infer-run.1; do
		mv $f kept
		[[ $f != *.h && $f != man/* ]] || : >$f
		run -1 "$TOP/scripts/check-kernels"
		[[ $output == *"$f"* ]]
		mv kept $f
	done
	sed -i 's/"x"/"y"/' libcore/kern/x/table.c
	run -1 "$TOP/scripts/check-kernels"
	[[ $output == *'.name = "x"'* ]]
}

@test "check-headers finds a header that does not compile alone, in C or in C++" {
	echo 'int infer_f(size_t n);' >libcore/include/infer/a.h
	run -1 "$TOP/scripts/check-headers"
	echo 'int infer_f(int class);' >libcore/include/infer/a.h
	if command -v c++ >/dev/null; then run -1 "$TOP/scripts/check-headers"; fi
	echo 'int infer_f(int n);' >libcore/include/infer/a.h
	"$TOP/scripts/check-headers"
}

@test "check-docs finds what man or a completion lacks, by name" {
	cp -r "$TOP/man" "$TOP/completions" .
	mkdir -p cmd/infer-run cmd/infer-inspect libcore/sample libcore/record libcore/api libcore/automata libcore/include/infer
	cp "$TOP/libcore/api/"*.c libcore/api/
	cp "$TOP/libcore/automata/format.c" libcore/automata/
	cp "$TOP/libcore/sample/param_list.h" libcore/sample/
	cp "$TOP/libcore/include/infer/"*.h libcore/include/infer/
	cp "$TOP/libcore/record/kind_list.h" "$TOP/libcore/record/field_list.h" libcore/record/
	"$TOP/scripts/check-docs"
	# files are changed, and one run of check-docs finds all of it
	changed=() expected=()
	lacks() { # FILE SED-PROGRAM WORDS: what check-docs says of it
		cp "$1" before
		sed -i "$2" "$1"
		! cmp -s "$1" before || { echo "$2 changes nothing"; return 1; }
		changed+=("$1") expected+=("$3")
	}
	found() {
		run -1 "$TOP/scripts/check-docs"
		for words in "${expected[@]}"; do
			[[ $output == *"$words"* ]] || { echo "not found: $words"; echo "$output"; return 1; }
		done
		for file in "${changed[@]}"; do cp "$TOP/$file" "$file"; done
		changed=() expected=()
	}
	lacks man/infer-run.1 's/^\.It Fl -echo/.It Fl -ecko/' '> --ecko'
	lacks man/infer-run.1 's/^most likely tokens; 40\./most likely tokens; 41./' '--top-k: the default 40'
	lacks man/infer-run.1 's/^\.Li penalties,dry,/.Li dry,/' 'the stages are penalties,dry,'
	lacks man/infer-jsonl.5 's/ xtc_threshold ,//' 'request: xtc_threshold'
	lacks man/infer-jsonl.5 's/^\.Va dry_base ,/.Va dry_bass ,/' 'The object run: dry_base'
	lacks man/infer.7 's/^llama granite/llama/' 'the families are llama granite'
	lacks man/infer-jsonl.5 's#/v1/completions#/v1/complete#g' 'what /v1/completions takes'
	lacks man/infer.3 '/^\.It In infer\/plan\.h/d' '< plan.h'
	lacks man/infer.3 's/^\.It In infer\/probe\.h/&pp/' '> probe.hpp'
	lacks man/infer-jsonl.5 's/^\.Ss verify$/.Ss verified/' 'the kind verify has no section'
	lacks man/infer-jsonl.5 's/^\.Ss hw$/.Ss machine/' 'machine is no kind'
	lacks man/infer-jsonl.5 's/^One tensor, from/A tensor, from/' 'tensor has no section that begins with "one tensor"'
	lacks man/infer-jsonl.5 's/^\.Ic infer-inspect tokens --json/.Ic infer-show tokens/' 'token: infer-inspect, which writes it'
	cp "$TOP/HACKING.md" .
	lacks HACKING.md 's/^| `kv` | /| `kw` | /' '> kw'
	lacks HACKING.md 's/^    ground  *base/& grund/' '> ground base grund'
	lacks libcore/record/kind_list.h '$a KIND(SLOT, "slot", "infer-run", "a slot")' 'the kind slot has no section'
	lacks man/infer-run.1 's/^\.Cm q4_0$/.Cm q5_0/' 'man/infer-run.1: --kv-type: the types are f16 f32 q4_0 q8_0'
	lacks man/infer-bench.1 's/^\.Cm f16 , f32 , q8_0/.Cm f16 , q8_0/' 'man/infer-bench.1: --kv-type'
	found
	printf '%s\n' 'jw_str(w, "kind", "x");' >cmd/infer-run/a.c
	run -1 "$TOP/scripts/check-docs"
	[[ $output == *'cmd/infer-run/a.c:1:'*'infer_record_open does that'* ]]
	rm cmd/infer-run/a.c
	cp -r "$TOP/cmd/infer-run" "$TOP/cmd/common" cmd/
	"$TOP/scripts/check-docs"
	lacks cmd/infer-run/run.h 's/^	const char \*out, \*fields;/	const char *out, *fields, *colour;/' 'run.h: no option fills the field colour'
	lacks cmd/infer-run/run.h 's/; \/\* not options \*\//;/' 'run.h: no option fills the field exec_ns'
	lacks cmd/infer-run/opts.h '/AT(with_request)/d' 'no option fills the field with_request'
	lacks cmd/infer-run/handoff_ask.c '/ignore_eos/d' 'handoff_ask.c reads the field ignore_eos'
	found
	sed -i 's/AT(with_request)/AT(colour), &/' cmd/infer-run/opts.h
	lacks cmd/infer-run/run.h 's/^	const char \*out, \*fields;/	const char *out, *fields, *colour;/' 'run.h: nothing reads the field colour'
	found
	cp "$TOP/cmd/infer-run/opts.h" cmd/infer-run/
	lacks completions/infer.fish '/-l echo /d' '< complete -c infer-run -l echo '
	lacks completions/_infer 's/--echo/--eco/' "> 	'--eco["
	lacks completions/infer.bash 's/ --special --echo$/ --special/' '--special --echo'
	found
	echo 'enum { JREAD_DEPTH = 1 << 3 };   /* deep */' >libcore/base/jread.h
	echo '| depth of JSON | 8 | `jread.h` `JREAD_DEPTH` |' >SECURITY.md
	"$TOP/scripts/check-docs"
	echo '| depth of JSON | 1,000 | `jread.h` `JREAD_DEPTH` |' >SECURITY.md
	run -1 "$TOP/scripts/check-docs"
	[[ $output == *'JREAD_DEPTH is 1000 there'* ]]
}

@test "make stops at once where something is missing, and names the packages; DEPS=skip goes on" {
	cat >cc-bare <<-'END'
		#!/bin/sh
		for a; do
			[ "$a" != -E ] || { ! grep -q histedit; exit; }
		done
		exec cc "$@"
	END
	chmod +x cc-bare
	export DEPS=''
	for goal in all install; do
		run -2 make -s -C "$TOP" SAN='' O="$PWD/o" CC=no-such-compiler "$goal" </dev/null
		[[ $output == *'deps: missing: no-such-compiler'*'deps: install them with: '*'DEPS=skip'* ]]
		run -2 make -s -C "$TOP" SAN='' O="$PWD/o" CC="$PWD/cc-bare" "$goal" </dev/null
		[[ $output == *'deps: missing: histedit.h'* ]]
		PKG_CONFIG_LIBDIR=$PWD/missing run -2 make -s -C "$TOP" SAN='' O="$PWD/o" "$goal" </dev/null
		[[ $output == *'deps: missing: libpcre2-8'*openblas*libopenblas-dev* ]]
	done
	[ ! -e o ]
	DEPS=skip run -0 make -s -C "$TOP" SAN='' O="$PWD/o" CC="$PWD/cc-bare" "$PWD/o/release/libcore/base/err.c.o" </dev/null
	[[ $output == *'deps: missing: histedit.h'* ]]
	[ -s o/release/libcore/base/err.c.o ]
}

@test "check-hardening finds what was built without it" {
	mkdir -p libcore/base cmd
	echo 'int main(int argc, char **argv) { char a[64]; strcpy(a, argv[argc - 1]); return a[1]; }' >a.c
	full='-O2 -fPIC -fcf-protection=full -fstack-protector-strong -D_FORTIFY_SOURCE=2 -include string.h'
	link='-pie -Wl,-z,relro,-z,now'
	[ "$(uname -m)" = x86_64 ] || full=${full/-fcf-protection=full/}
	built() { # FLAGS LINK FLAGS
		# shellcheck disable=SC2086
		gcc $1 -w -c -o libcore/base/buf.c.o a.c && gcc $2 -o infer-run libcore/base/buf.c.o
	}
	lacks() { # WORDS
		B=$PWD run -1 "$TOP/scripts/check-hardening"
		[[ $output == *$1* ]]
	}
	built "$full" "$link"
	B=$PWD "$TOP/scripts/check-hardening"
	built "${full/-fstack-protector-strong/-fno-stack-protector}" "$link" && lacks 'stacks are not guarded'
	built "${full/-D_FORTIFY_SOURCE=2/-U_FORTIFY_SOURCE}" "$link" && lacks 'checking functions'
	built "$full" '-pie -Wl,-z,relro,-z,lazy' && lacks BIND_NOW
	built "$full" '-pie -Wl,-z,norelro,-z,now' && lacks RELRO
	built "$full" '-no-pie -Wl,-z,relro,-z,now' && lacks position-independent
	built "$full" "$link -z execstack" && lacks 'stack is executable'
	built "$full" "$link -Wl,--no-as-needed -lzstd" && lacks 'loads what it does not use:*libzstd'
	[ "$(uname -m)" = x86_64 ] || return 0
	built "${full/-fcf-protection=full/-fcf-protection=none}" "$link" && lacks 'branch targets'
	# a program is marked only if the start files are: a compiler that has marked ones, and one that has others
	built "$full" "$link"
	for how in full none; do
		echo 'int x;' | gcc -fcf-protection=$how -x c -c -o start.$how.o -
		printf '#!/bin/sh\necho "%s"\n' "$PWD/start.$how.o" >cc.$how
		chmod +x cc.$how
	done
	B=$PWD CC=./cc.none "$TOP/scripts/check-hardening" >out
	readelf -nW infer-run | grep -q 'x86 feature:.*IBT' ||
		grep -q 'not marked as a whole, because start files of the C library are not ( Scrt1.o crti.o crtbeginS.o crtendS.o crtn.o ): infer-run' out
	gcc -w -fcf-protection=none -c -o libcore/base/plain.o a.c
	gcc $link -nostartfiles -Wl,-e,main -o infer-run libcore/base/buf.c.o libcore/base/plain.o -Wl,-z,muldefs
	CC=./cc.full lacks 'infer-run: branch targets are not marked, though they are in the start files'
}

@test "run-tests counts what passed, failed and was left out, and programs that die" {
	printf '#!/bin/sh\necho 1..3; echo ok 1; echo not ok 2; echo "ok 3 # SKIP for no reason"\n' >a
	printf '#!/bin/sh\necho 1..2; echo ok 1; kill -9 $$\n' >b
	chmod +x a b
	run -1 "$TOP/scripts/run-tests" ./a
	same '1 passed, 1 failed, 1 skipped' "${lines[-1]}"
	run -1 "$TOP/scripts/run-tests" ./b
	[[ ${lines[-1]} == '1 passed, 1 failed, 0 skipped' ]]
	printf '#!/bin/sh\necho 1..1; echo ok 1\n' >a
	run -0 "$TOP/scripts/run-tests" ./a
	same '1 passed, 0 failed, 0 skipped' "${lines[-1]}"
}

@test "run-tests ends a program that does not end, with all that it started, and names it" {
	printf '#!/bin/sh\necho 1..1\necho "ok 1 - one"\nsleep 1000 &\necho $! >left\nwait\n' >a
	chmod +x a
	TEST_LIMIT=1 run -1 "$TOP/scripts/run-tests" ./a
	[[ $output == *"./a did not end within 1 s"*"1 passed, 1 failed, 0 skipped" ]]
	until ! kill -0 "$(cat left)" 2>/dev/null; do sleep 0.02; done
}

@test "run-tests fails a program in which the sanitizer of undefined behaviour finds something" {
	printf '#include <stdio.h>\nint main(int n, char **v) { (void)v; int x = n << (n + 40); printf("1..1\\nok 1\\n"); return x == 77; }\n' >a.c
	cc -fsanitize=undefined -o a a.c
	run -1 env -u UBSAN_OPTIONS "$TOP/scripts/run-tests" ./a
	[[ $output == *'shift exponent 41'* ]]
}

@test "check-readme finds an output that went stale, and too few commands" {
	"$TOP/scripts/check-readme"
	sed 's/most likely tokens/likeliest tokens/' "$TOP/README.md" >stale.md
	run -1 "$TOP/scripts/check-readme" stale.md
	[[ $output == *stale.md*jobs.jsonl* ]]
	sed 's/most likely tokens/likeliest tokens/' "$TOP/man/infer-tour.7" >stale.7
	run -1 "$TOP/scripts/check-readme" stale.7
	[[ $output == *stale.7*jobs.jsonl* ]]
	sed 's/^| models | 3/| models | 9/' "$TOP/README.md" >stale.md
	run -1 "$TOP/scripts/check-readme" stale.md
	[[ $output == *'stale.md: 9'*' families, but infer-run --version lists'* ]]
	head -n 12 "$TOP/README.md" >short.md
	run -1 "$TOP/scripts/check-readme" short.md
	[[ $output == *'only 0 commands'* ]]
}
