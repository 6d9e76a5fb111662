# infer-run -i: conversations, from a pipe and at a terminal (tmux is the terminal)
load lib

# a model that takes its time, so that an answer can be stopped; one without a template; the keys of whoever runs this stay theirs
setup_more()
{
	unset NO_COLOR XDG_STATE_HOME INFER_MODEL
	export SLOW=$BATS_FILE_TMPDIR/slow.gguf CHAT=$BATS_FILE_TMPDIR/chat.gguf LC_ALL=C.UTF-8
	slow_model "$SLOW" --chat --layers 8 --embd 512
	mkmodel --chat "$CHAT"
}
setup() { cd "$BATS_TEST_TMPDIR" && export HOME=$BATS_TEST_TMPDIR; }
teardown() { stop; }

talk() { infer-run -q -m demo -i --temp 0 "$@"; }
what='Question: What is inferutils?'
story='Story about a fox, a lighthouse and a key:'
# content FILE I: of message I in a conversation that was saved
content() { tr -d '\n' <"$1" | json "$2.content"; }
roles() { tr -d '\n' <"$1" | perl -MJSON::PP -e 'print join(" ", map { $_->{role} } @{decode_json(<STDIN>)}), "\n"'; }

# ---- lines from a pipe ----

@test "each line is a turn; standard output has the answers alone, each with one newline" {
	one=$(infer-run -q -m demo --no-stdin --temp 0 "$what")
	printf '%s\n' "$what" | talk >out 2>err
	printf '%s\n' "$one" | cmp - out
	[ ! -s err ]
	printf '%s\n\n  \n%s\n/save it.json\n' "$what" "$story" | talk >out 2>err
	same 2 "$(wc -l <out)"
	same 'user assistant user assistant' "$(roles it.json)"
	same "$one" "$(content it.json 1)"
}

@test "the last line needs no newline, and there need be no line" {
	same "$(printf '%s\n' "$what" | talk)" "$(printf '%s' "$what" | talk)"
	talk </dev/null >out
	[ ! -s out ]
}

@test "an answer is what the whole conversation is answered with in one go" {
	printf '%s\n/save it.json\n%s\n' "$what" "$story" | talk >out
	same "$(tail -n 1 out)" "$(infer-run -q -m demo --no-stdin --temp 0 --messages it.json "$story")"
	same "$(tail -n 1 out)" "$(printf '%s\n' "$story" | talk --messages it.json)"
}

@test "a conversation begins with what the options say" {
	printf '/save it.json\n' | talk --system 'Be brief.' "$what" >out
	same 'system user assistant' "$(roles it.json)"
	same 'Be brief.' "$(content it.json 0)"
	same "$(infer-run -q -m demo --no-stdin --temp 0 --system 'Be brief.' "$what")" "$(cat out)"
	printf '%s' "$what" >turn
	printf '/save again.json\n' | talk --messages it.json -f turn >out
	same 'system user assistant user assistant' "$(roles again.json)"
}

@test "a turn of the user that waits is answered: at once where the conversation begins with it, by /regen behind /load" {
	printf '[{"role":"user","content":"%s"}]' "$what" >it.json
	one=$(printf '%s\n' "$what" | talk)
	same "$one" "$(talk --messages it.json </dev/null)"
	same "$one" "$(printf '/load it.json\n/regen\n' | talk 2>err)"
	grep -q '1 message loaded; .*/regen' err
}

@test "nothing but text: no escape codes, no prompt" {
	printf '%s\n/stats\n/help\n/nonsense\n' "$what" | TERM=xterm-256color talk >out 2>err || true
	[ -s out ]
	[ -s err ]
	run ! grep -q $'\033' out err
	run ! grep -q '^>' out err
}

@test "lines go on behind a backslash and inside quotes; quotes hold what is no command" {
	printf '%s\n' 'one\' 'two' '"""' '/three' '' 'four \' '"""' '"""five"""' '/save it.json' >lines
	talk -n 1 <lines
	same $'one\ntwo' "$(content it.json 0)"
	same $'/three\n\nfour \\' "$(content it.json 2)"
	same five "$(content it.json 4)"
	printf 'open\\\nmore' | talk -n 1 --messages it.json >out
	[ -s out ]
}

@test "an unknown command, or one that cannot be now, is one line; the conversation goes on, and the code is that of the first" {
	printf '/nonsense\n%s\n/load missing\n' "$what" >lines
	rc=0
	talk <lines >out 2>err || rc=$?
	same 2 "$rc"
	same 'infer-run: error: unknown command /nonsense; /help lists them all' "$(head -n 1 err)"
	same 2 "$(wc -l <err)"
	same "$(printf '%s\n' "$what" | talk)" "$(cat out)"
	for line in /regen /edit '/edit x' /save /load '/clear now' '/exit now'; do
		rc=0
		printf '%s\n' "$line" | talk >out 2>err || rc=$?
		same 2 "$rc"
		same 1 "$(wc -l <err)"
		[ ! -s out ]
	done
}

@test "/exit, /quit and /bye end it with 0; what stands behind is not read" {
	for end in exit quit bye; do
		printf '/%s\n%s\n' "$end" "$what" >lines
		talk <lines >out
		[ ! -s out ]
	done
}

@test "/? is /help, /retry is /regen, and a slip is answered with what was meant" {
	printf '/?\n' | talk 2>err
	grep -q '^/help .*also /?' err
	printf '/help\n' | talk 2>&1 | cmp - err
	run ! grep -qE '^.{81}' err
	same "$(printf '%s\n/regen\n' "$story" | talk --temp 1 --seed 7)" "$(printf '%s\n/retry\n' "$story" | talk --temp 1 --seed 7)"
	while read -r typed meant; do
		rc=0
		echo "$typed" | talk 2>err || rc=$?
		same 2 "$rc"
		same "infer-run: error: unknown command $typed; did you mean $meant?" "$(cat err)"
	done <<-END
		/sav /save
		/lod /load
		/qiut /quit
		/he /help
	END
}

@test "/undo takes turn after turn back; what is left goes on as before" {
	printf '%s\n%s\n/undo\n/save it.json\n%s\n/undo\n/undo\n/save none.json\n' "$what" hello "$story" | talk >out 2>err
	same 'user assistant' "$(roles it.json)"
	same '[]' "$(tr -d '\n' <none.json)"
	printf '%s\n%s\n' "$what" "$story" | talk | sed -n 2p | cmp - <(sed -n 3p out)
	grep -q '2 messages left' err
	rc=0
	printf '/system S\n/undo\n' | talk 2>err || rc=$?
	same 2 "$rc"
	same 1 "$(grep -c 'error: /undo: there is no turn to remove' err)"
}

@test "/save and /load: the same conversation, by way of a file that is whole or not there" {
	printf '%s\n/save it.json\n/clear\n/load it.json\n/save again.json\n%s\n' "$what" "$story" | talk >out
	cmp it.json again.json
	printf '%s\n%s\n' "$what" "$story" | talk | cmp - out
	rc=0
	printf '%s\n/save missing/it\n/save .\n/save /dev/null\n' "$what" | talk >out 2>err || rc=$?
	same 1 "$rc"
	same 3 "$(wc -l <err)"
	[ -c /dev/null ]
	same 'again.json err it.json out' "$(echo *)"
}

@test "a damaged file is one line, and the conversation stays as it was" {
	for text in '' '{}' '[1]' '[{"role":"user"' '[{"role":"user","content":7}]' '[{"role":"USER","content":"a"}]' \
		'[{"role":"user","content":[{"type":"image_url"}]}]'; do
		printf '%s' "$text" >bad.json
		rc=0
		printf '%s\n/save before.json\n/load bad.json\n/save after.json\n' "$what" | talk >out 2>err || rc=$?
		same 3 "$rc"
		same 1 "$(grep -c . <(grep error err))"
		cmp before.json after.json
	done
}

@test "/system makes, shows and takes the system turn; /clear keeps it" {
	printf '%s\n' '/system Be brief.' '/system' "$what" '/clear' '/save it.json' '/system -' '/save none.json' >lines
	talk <lines >out 2>err
	grep -qx 'Be brief.' err
	same system "$(roles it.json)"
	same '[]' "$(tr -d '\n' <none.json)"
	same "$(infer-run -q -m demo --no-stdin --temp 0 --system 'Be brief.' "$what")" "$(cat out)"
}

@test "/regen answers anew, with other random numbers; /edit TEXT takes the place of the last turn" {
	printf '%s\n/save 1.json\n/regen\n/save 2.json\n/regen\n/save 3.json\n' "$story" | talk --temp 1 --seed 7 >out
	same 'user assistant' "$(roles 3.json)"
	[ "$(content 1.json 1)" != "$(content 2.json 1)" ]
	[ "$(content 2.json 1)" != "$(content 3.json 1)" ]
	same "$(content 1.json 1)" "$(infer-run -q -m demo --no-stdin --temp 1 --seed 7 "$story")"
	same "$(content 2.json 1)" "$(infer-run -q -m demo --no-stdin --temp 1 --seed 8 "$story")"
	printf '%s\n%s\n/edit %s\n/save it.json\n' "$story" hello "$what" | talk >out
	same 'user assistant user assistant' "$(roles it.json)"
	same "$what" "$(content it.json 2)"
	printf '%s\n%s\n' "$story" "$what" | talk | tail -n 1 | cmp - <(tail -n 1 out)
}

@test "only what is new is computed: the cache has the turns before, but for the last part of a page" {
	printf '%s\n/stats\n%s\n/stats\n' "$story" "$what" | talk >out 2>err
	# last answer: prompt P tokens: C cached, N computed ... A answered
	numbers() { grep -A 1 '^last answer' err | grep -v '^--' | paste - - | sed -n "$1p" | grep -oE '[0-9]+ (tokens:|cached|computed|answered)' | grep -oE '^[0-9]+' | tr '\n' ' '; }
	read -r p1 c1 n1 a1 <<<"$(numbers 1)"
	read -r p2 c2 n2 a2 <<<"$(numbers 2)"
	same 0 "$c1"
	same "$p1" "$n1"
	same "$p2" "$((c2 + n2))"
	[ "$a1" -gt 32 ]
	[ "$a2" -gt 0 ]
	[ "$c2" -gt $((p1 + a1 - 33)) ]
	grep -qE "^context +$((p2 + a2)) of 1024 tokens" err
	grep -qE '^seed +[0-9]+ for the first answer' err
	grep -qE '^KV cache +[0-9]+\.[0-9] MiB: [0-9]+ of [0-9]+ pages of 32 positions, f16 keys and f16 values$' err
	grep -q '^1 answer  ' err
	grep -q '^2 answers  ' err
	# and without the cache the same is said
	printf '%s\n%s\n' "$story" "$what" | talk --no-prefix-cache | cmp - out
}

@test "a full context is said, and so is what to do; nothing is dropped" {
	rc=0
	printf '%s\n%s\n/save it.json\n/clear\n%s\n' "$what" "$story" "$what" | talk -c 76 >out 2>err || rc=$?
	same 4 "$rc"
	grep -q 'the context is full: .*/clear begins a new one' err
	same 'user assistant' "$(roles it.json)"
	same 2 "$(wc -l <out)"
	printf '%s\n' "$story" | talk -c 60 2>err
	grep -q 'context of 60 tokens is full, and the answer is cut' err
	printf '%s\n' "$story" | talk -n 5 2>err
	grep -q 'cut after 5 tokens' err
}

@test "a model without a template: the conversation is written as ChatML, which is said; --raw continues a text" {
	printf 'the\n/save chatml.json\n' | infer-run -m "$M" -i --temp 0 -n 3 >out 2>err
	grep -q 'the conversation is written as ChatML; --raw continues a text' err
	printf '%s\n' '[{"role":"user","content":"the"}]' >one.json
	same "$(infer-run -q -m "$M" --no-stdin --temp 0 -n 3 --messages one.json)" "$(content chatml.json 1)"
	same "$(infer-run -q -m demo --no-stdin --temp 0 --raw "$story")" "$(printf '%s\n' "$story" | talk --raw)"
	printf 'Story about\n/save it.json\n a fox\n' | talk --raw -n 3 >out
	a=$(content it.json 1; echo .)
	same "$(infer-run -q -m demo --no-stdin --temp 0 --raw -n 3 "Story about${a%??} a fox")" "$(tail -n 1 out)"
	rc=0
	printf '/system x\n' | talk --raw 2>err || rc=$?
	same 2 "$rc"
	printf '{%% for m in messages %%}{{ m.content }}{%% endfor %%}' >t.jinja
	printf 'the\n' | infer-run -q -m "$M" -i --template t.jinja -n 2 >out
	[ -s out ]
}

@test "/model goes on with another; one that cannot be opened leaves the one before" {
	head -c 1000 "$M" >cut.gguf
	printf '%s\n/model missing\n/model cut.gguf\n/regen\n/model %s\nthe\n/save it.json\n/model\n' "$what" "$CHAT" >lines
	rc=0
	talk -n 9 <lines >out 2>err || rc=$?
	same 1 "$rc"
	same 3 "$(wc -l <out)"
	same "$(sed -n 1p out)" "$(sed -n 2p out)"
	same 'user assistant user assistant' "$(roles it.json)"
	tail -n 1 err | grep -q "^$CHAT: "
	printf '[{"role":"user","content":"%s"},{"role":"assistant","content":"%s"}]' "$what" "$(content it.json 1)" >m.json
	same "$(sed -n 3p out)" "$(infer-run -q -m "$CHAT" --no-stdin --temp 0 -n 9 --messages m.json the)"
}

@test "what does not go with -i is a usage error" {
	for o in '-o jsonl' --json --stats --no-stdin '--repeat 2' --echo --fail-on-length --score --tokenize --render '--batch x' '-f -' \
		'--messages -' '--tools x'; do
		# shellcheck disable=SC2086
		fails 2 '' infer-run -m demo -i $o
	done
}

@test "text that is not UTF-8 is refused, by its line; a line may be long" {
	rc=0
	printf '%s\n\377\n' "$what" | talk >out 2>err || rc=$?
	same 2 "$rc"
	grep -q 'line 2: not UTF-8' err
	same 1 "$(wc -l <out)"
	rc=0
	head -c 300000 /dev/zero | tr '\0' a | talk >out 2>err || rc=$?
	same 4 "$rc"
	same 1 "$(wc -l <err)"
}

# forces ID...: options that make the built-in model write these tokens, all of them others, greedily: each is likelier than the
# next, until it was there
forces()
{
	local id bias=1000000

	forced=(--repeat-penalty 100 --repeat-last-n 20 -n $#)
	for id; do
		forced+=(--logit-bias "$id=$bias")
		bias=$((bias * 3 / 4))
	done
}
ids() { printf '%s' "$1" | infer-run --tokenize --raw -m demo; }

# a template whose prompt opens the reasoning, far enough back for the penalty not to see it
thinks()
{
	cat >think.jinja <<-'END'
	{% for m in messages %}<|im_start|>{{ m.role }}
	{% if m.reasoning_content %}<think>
	{{ m.reasoning_content }}
	</think>

	{% endif %}{{ m.content }}<|im_end|>
	{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
	<think>{{ "\n" * 40 }}{% endif %}
	END
	# shellcheck disable=SC2046
	forces $(ids "$1")
	forced+=(--template think.jinja)
}

@test "an answer's own tokens stay in the next prompt where its text would be cut into others" {
	own=$(ids ' li') own+=" $(ids gh) $(ids t)"
	# shellcheck disable=SC2086
	forces $own
	printf 'x\n/save it.json\ny\n/stats\n' | talk "${forced[@]}" >out 2>err
	same ' light' "$(head -n 1 out)"
	same ' light' "$(content it.json 1)"
	[ "$(ids ' light' | wc -w)" -lt "$(wc -w <<<"$own")" ]
	fresh=$(infer-run --render -m demo --no-stdin --messages it.json y | infer-run --tokenize --special --raw -m demo | wc -w)
	more=$(($(wc -w <<<"$own") - $(ids ' light' | wc -w)))
	grep -q "^last answer *prompt $((fresh + more)) tokens" err
}

@test "reasoning is kept apart: not in the answer, beside it in the conversation" {
	thinks 'why not</think> so be it'
	printf 'x\n/save it.json\n' | talk "${forced[@]}" >out 2>err
	same 'so be it' "$(cat out)"
	same 'so be it' "$(content it.json 1)"
	same 'why not' "$(tr -d '\n' <it.json | json 1.reasoning_content)"
	run ! grep -q 'why not' err
}

@test "in a pipe SIGINT ends it, by the signal" {
	set -m
	(echo the; sleep 60) | exec env --default-signal=INT infer-run -q -m "$SLOW" -i --ignore-eos >out &
	for _ in $(seq 1200); do [ ! -s out ] || break; sleep .1; done
	[ -s out ]
	last=$!
	kill -INT -- "-$(jobs -p %%)"
	rc=0
	wait "$last" || rc=$?
	same 130 "$rc"
}

@test "a disk that is full ends it with one line" {
	rc=0
	printf '%s\n%s\n' "$what" "$what" | talk >/dev/full 2>err || rc=$?
	same 1 "$rc"
	same 1 "$(wc -l <err)"
}

# ---- a terminal ----

# a server of its own for each terminal: one that ends takes its time
terminals=0
tm() { tmux -S "$BATS_TEST_TMPDIR/tm$terminals" "$@"; }
stop() { if [ -S "tm$terminals" ]; then tm kill-server 2>/dev/null || true; fi; }
open_terminal()    # COMMAND
{
	stop
	terminals=$((terminals + 1))
	tm -f /dev/null new-session -d -x 80 -y 24 "exec $1"
	sees '^> *$'
}

# start ARGS...: -i in a terminal of 80 columns, and how it ends
start()
{
	if ! command -v tmux >/dev/null; then
		[ -z "${CI:-}" ] || { echo "CI, and no tmux"; return 1; }
		skip "needs tmux (package tmux)"
	fi
	{
		echo 'trap : INT     # a signal of the terminal reaches this shell, too, and is not for it'
		printf 'infer-run %s -i' "${quiet--q}"
		printf " '%s'" "$@"
		echo '; echo "ended with $?"; exec sleep 1000'
	} >start.sh
	open_terminal "sh $PWD/start.sh"
}
screen() { tm capture-pane -p; }
# sees REGEX: the screen comes to hold a line like that, within 60 s
sees()
{
	for _ in $(seq 600); do
		screen >now || return
		if grep -qE -- "$1" now; then return; fi
		sleep .1
	done
	echo "never saw $1:"
	screen
	return 1
}
# clear_screen TEXT: clear the screen until TEXT, which was there, is gone
clear_screen()
{
	keys C-l
	for _ in $(seq 600); do
		screen >now || return
		grep -q -- "$1" now || return 0
		sleep .1
	done
	echo "still there: $1"
	return 1
}
keys() { tm send-keys "$@"; }
# interrupt: Ctrl-C, and the new prompt: the signal overtakes what is typed right after it
interrupt()
{
	keys C-c
	sees '\^C$'
	sees '^> *$'
}
# settles: nothing on the screen has changed for two seconds
settles()
{
	local same=0
	for _ in $(seq 600); do
		screen >now || return
		if cmp -s now before; then same=$((same + 1)); else same=0; fi
		[ $same -lt 20 ] || return 0
		mv now before
		sleep .1
	done
}
resize() # COLUMNS ROWS: tmux shows the window at once, and tells the program a little later
{
	tm resize-window -x "$1" -y "$2"
	for _ in $(seq 600); do
		if [ "$(stty size <"$(tm display-message -p '#{pane_tty}')")" = "$2 $1" ]; then return; fi
		sleep .1
	done
	return 1
}
say() { tm send-keys -l -- "$1" && tm send-keys Enter; }

@test "terminal: typed, answered, recalled with the up arrow, ended with Ctrl-D and 0" {
	start -m demo --temp 0
	say "$what"
	sees '^inferutils is a set of small programs'
	sees '^> *$'
	keys Up
	sees "^> ${what%?}. *\$"
	same "> $what" "$(screen | grep -v '^$' | tail -n 1)"
	keys C-c
	sees '\^C$'
	keys C-d
	sees '^ended with 0'
	same "$what" "$(cat .local/state/inferutils/infer-run.history)"
	same 600 "$(stat -c %a .local/state/inferutils/infer-run.history)"
	same 700 "$(stat -c %a .local/state/inferutils)"
}

@test "terminal: the history is there in the next run, in XDG_STATE_HOME where that is set" {
	export XDG_STATE_HOME=$PWD/state
	mkdir -p state/inferutils
	printf 'first\nsecond\\nline\n' >state/inferutils/infer-run.history
	start -m demo --temp 0 -n 1
	keys Up
	sees '^line'
	keys Up
	sees '^> first'
	interrupt
	say /exit
	sees '^ended with 0'
	same 'first second\nline /exit' "$(tr '\n' ' ' <state/inferutils/infer-run.history | sed 's/ $//')"
	[ ! -e .local ]
}

@test "terminal: the first line says the model and how to go on; -q and a pipe have none" {
	quiet='' start -m "$CHAT" --temp 0
	tm capture-pane -e -p >now
	grep -q $'^\033\\[2mchat.gguf: /help lists the commands, Ctrl-D ends' now
	start -m demo --temp 0
	run ! grep -q /help now
	infer-run -m demo -i </dev/null 2>err
	[ ! -s err ]
}

@test "terminal: no prompt at all is an error that mentions -i" {
	command -v script >/dev/null || skip "needs the program script (package bsdutils)"
	script -qec "infer-run -q -m '$CHAT'" /dev/null </dev/null | tr -d '\r' >out || true
	same 'infer-run: error: no text: give it as arguments, with -f FILE, or on standard input; -i talks' "$(cat out)"
	infer-run -q -m "$CHAT" --no-stdin </dev/null 2>err || true
	same 'infer-run: error: no text: give it as arguments, with -f FILE, or on standard input' "$(cat err)"
}

@test "terminal: /save asks before it replaces a file, but for the one that it wrote" {
	echo mine >it.json
	start -m demo --temp 0 -n 1
	say one
	sees '^> *$'
	for no in n '' yellow; do
		say '/save it.json'
		sees '^it.json exists'
		sees '^Replace it\? \(y/n\) *$'
		if [ "$no" = yellow ]; then keys C-c; else say "$no"; fi
		sees '^\(not saved\)'
		sees '^> *$'
		clear_screen Replace
		sees '^> *$'
		same mine "$(cat it.json)"
	done
	say '/save it.json'
	sees '^Replace it'
	say y
	sees '2 messages saved'
	clear_screen Replace
	say '/save it.json'
	sees '2 messages saved'
	run ! grep -q Replace now
	say /clear
	sees 'a new conversation'
	say two
	sees '^> *$'
	say '/save it.json'
	sees '^Replace it'
	keys C-d
	sees '^\(not saved\)'
	same one "$(content it.json 0)"
	keys Up
	sees '^> /save it.json'
}

@test "terminal: a turn that is stopped in its prompt is taken back, and /stats says what it took" {
	printf '[{"role":"user","content":"%s"},{"role":"assistant","content":"b"}]' "$(printf 'the of and %.0s' $(seq 20000))" >it.json
	quiet='' start -m "$SLOW" --temp 0 -n 3 --prefill-chunk 32
	say one
	sees '^> *$'
	say '/load it.json'
	sees '2 messages loaded'
	say two
	sees '^prompt [0-9]+'
	keys C-c
	sees 'stopped before the first word; the turn is removed'
	say /stats
	sees '^last turn +prompt [0-9]+ tokens: [0-9]+ cached, [0-9]+ computed at [0-9.]+ tokens/s$'
	sees '^ +stopped before the first word, and removed'
	sees '^1 answer '
	sees ' 2 messages$'
	sees '^> *$'
	read -r prompt cached computed rate <<<"$(grep -oE '^last turn.*' now | grep -oE '[0-9]+ (tokens:|cached|computed)|[0-9.]+ tokens/s' | cut -d' ' -f1 | xargs)"
	[ "$computed" -gt 0 ]
	[ $((cached + computed)) -lt "$prompt" ]
	[ "$rate" != 0.0 ]
}

@test "terminal: Tab completes commands and names of files, lists them, and is a character elsewhere" {
	mkdir -p talks/inner
	echo '[{"role":"user","content":"in the file"}]' >'talks/a long name.json'
	touch talks/a.txt talks/日本 .hidden "$(printf 'talks/bad\033name')"
	start -m demo --temp 0 -n 1
	tm send-keys -l '/lo'
	keys Tab
	tm send-keys -l 'ta'
	keys Tab
	sees '^> /load talks/ *$'
	keys Tab
	sees '^a long name.json  a.txt             inner/            日本$'
	sees '^> /load talks/ *$'
	run ! grep -q bad now
	tm send-keys -l 'a l'
	keys Tab
	sees '^> /load talks/a long name.json *$'
	keys Enter
	sees '^\(1 message loaded'
	keys C-l
	tm send-keys -l '/s'
	keys Tab
	sees '^system +save +stats$|^save +stats +system$'
	sees '^> /s *$'
	tm send-keys -l t
	keys Tab Enter
	sees '^context '
	tm send-keys -l '/load 日'
	keys Tab
	sees '^> /load 日 *$'
	interrupt
	tm send-keys -l a
	keys Tab
	tm send-keys -l b
	keys Enter
	sees '^> a +b'
	sees '^> *$'
	say '/save it.json'
	sees 'messages saved'
	same "$(printf 'a\tb')" "$(content it.json 1)"
}

@test "terminal: lines are broken between words, for the width there is; a copy is not" {
	start -m demo --temp 0
	resize 37 24
	sleep .2
	say "$story"
	sees '^> *$'
	screen | sed -n '/key:$/,/^> *$/p' | sed '1d; $d' >shown
	[ "$(wc -l <shown)" -gt 3 ]
	say '/save it.json'
	sees '2 messages saved'
	content it.json 1 >text
	same "$(perl -MText::Wrap -e '$Text::Wrap::columns = 38; print wrap("", "", <STDIN>)' <text)" "$(cat shown)"
	# the copy, and what a pipe gets
	same 1 "$(wc -l <text)"
	printf '%s\n' "$story" | talk | cmp - text
	# stopped in a word, all that there is stands there
	start -m demo --temp 0 -n 9
	say "$story"
	sees 'cut after 9 tokens'
	say '/save 9.json'
	sees '2 messages saved'
	screen | grep -qF -- "$(content 9.json 1)"
}

@test "terminal: an answer is stopped and kept, written again, and the conversation goes on" {
	start -m "$SLOW" --ignore-eos --temp 1
	say 'the of and'
	sees '^ ?[A-Za-z]+ [a-z]+'
	keys C-c
	sees '^\(stopped; the text so far stays'
	sees '^> *$'
	say '/save 1.json'
	sees '2 messages saved'
	same 'user assistant' "$(roles 1.json)"
	[ -n "$(content 1.json 1)" ]
	keys C-l
	say /regen
	sees '> /regen'
	sees '^ ?[A-Za-z]+ [a-z]+'
	keys C-c
	sees '^> *$'
	say '/save 2.json'
	sees '^> /save 2.json'
	for _ in $(seq 1200); do [ ! -s 2.json ] || break; sleep .1; done
	same 'user assistant' "$(roles 2.json)"
	[ "$(content 1.json 1)" != "$(content 2.json 1)" ]
	keys C-d
	sees '^ended with 0'
}

@test "terminal: what is typed while an answer comes is read behind it, the end too" {
	start -m "$SLOW" --ignore-eos --temp 0 -n 60
	say the
	sees '^ ?[A-Za-z]+'
	say '/save it.json'
	keys C-d
	sees '^ended with 0'
	same 'user assistant' "$(roles it.json)"
}

@test "terminal: a SIGINT that comes when nothing is to be stopped ends nothing" {
	start -m demo --temp 0 -n 1
	for _ in $(seq 30); do keys C-c; done
	say one
	for _ in $(seq 30); do keys C-c; done
	settles
	sees '^> *$'
	mkfifo nobody-writes
	say '/load nobody-writes'
	sees '^> /load nobody-writes'
	# it may not wait for the writer yet
	for _ in $(seq 400); do
		sleep .3
		keys C-c
		! screen | grep -q 'nobody-writes: Interrupted' || break
	done
	sees 'nobody-writes: Interrupted'
	sees '^> *$'
	keys C-d
	sees '^ended with 0'
}

@test "terminal: /edit brings the last turn back to be changed" {
	start -m demo --temp 0
	say 'Question: What is infer-quant?'
	sees '^> *$'
	say /edit
	sees '^> Question: What is infer-quant\? *$'
	keys BSpace BSpace BSpace BSpace BSpace BSpace
	say 'run?'
	sees '^> Question: What is infer-run\?'
	sees '^> *$'
	say '/save it.json'
	sees 'messages saved'
	same 'Question: What is infer-run?' "$(content it.json 0)"
	same 'user assistant' "$(roles it.json)"
	say /edit
	sees '^> Question: What is infer-run\? *$'
	keys C-c
	sees '\^C$'
	say '/save again.json'
	sees '^> /save again.json'
	for _ in $(seq 1200); do [ ! -s again.json ] || break; sleep .1; done
	cmp it.json again.json
}

@test "terminal: many lines by a backslash, by quotes, by a paste, by Alt-Enter; letters of all kinds" {
	start -m demo --temp 0 -n 1
	say 'one\'
	sees '^\. *$'
	say 'two'
	sees '^> *$'
	say '"""'
	say '/three'
	say '"""'
	sees '^> *$'
	printf 'four\nfünf 日本\n\nsix' >paste
	tm load-buffer paste
	tm paste-buffer -p
	sees '^six'
	same $'> four\nfünf 日本\n\nsix' "$(screen | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' | tail -n 4)"
	keys Enter
	sees '^> *$'
	tm send-keys -l seven
	keys M-Enter
	say eight
	sees '^> *$'
	say '/save it.json'
	sees '8 messages saved'
	same $'one\ntwo' "$(content it.json 0)"
	same /three "$(content it.json 2)"
	same $'four\nfünf 日本\n\nsix' "$(content it.json 4)"
	same $'seven\neight' "$(content it.json 6)"
}

@test "terminal: SIGINT clears the line, of many rows too" {
	start -m demo --temp 0 -n 1
	tm send-keys -l "$(printf 'word %.0s' $(seq 40))"
	# all of it is drawn: a key that interrupts takes back what was not read yet
	sees '^d (word ){15}wor$'
	sees '^d (word ){7}word *$'
	keys C-a
	keys C-c
	sees '^d (word ){7}word ?\^C$'
	sees '^> *$'
	say 'one\'
	sees '^\. *$'
	keys C-c
	sees '^\. \^C'
	sees '^> *$'
	say two
	sees '^> two'
	say '/save it.json'
	sees '2 messages saved'
	same two "$(content it.json 0)"
}

@test "terminal: a window of another size, while a line is typed and while an answer comes" {
	start -m demo --temp 0
	tm send-keys -l "$story"
	sees 'and a key:'
	resize 30 20
	sees '^> Story about a fox, a lightho'
	sees '^use and a key:'
	same 1 "$(screen | grep -c Story)"
	resize 100 24
	sees "^> $story"
	keys Enter
	sees 'thanked Max and the key\.$'
	sees '^> *$'
	say '/save it.json'
	sees 'messages saved'
	same "$story" "$(content it.json 0)"
}

@test "terminal: colours, but for NO_COLOR; a terminal that knows nothing gets plain lines" {
	start -m demo --temp 0
	tm capture-pane -e -p | grep -q $'\033'
	NO_COLOR=1 start -m demo --temp 0
	tm capture-pane -e -p >now
	run ! grep -q $'\033' now
	open_terminal "env TERM=dumb sh $PWD/start.sh"
	say "$what"
	sees '^inferutils is a set'
	sees '^> *$'
	keys C-c
	sees '\^C$'
	keys C-d
	sees '^ended with 0'
	tm capture-pane -e -p >now
	run ! grep -q $'\033' now
}

@test "terminal: what a model or a file says is shown, never obeyed" {
	esc=$(printf '\033' | infer-run --tokenize -m demo)
	printf '[{"role":"system","content":"\\u001b[31mred"}]' >it.json
	start -m demo --temp 0 -n 3 --logit-bias "$esc=1000" --messages it.json
	say x
	sees '^\\x1b\\x1b\\x1b$'
	say /system
	sees '^\\x1b\[31mred$'
	# elsewhere an answer is data
	same "$(printf '\033\033\033')" "$(echo x | talk -n 3 --logit-bias "$esc=1000")"
}

@test "terminal: reasoning is shown apart, dimmed" {
	thinks 'why not</think> so be it'
	start -m demo --temp 0 "${forced[@]}"
	say x
	sees '^so be it'
	same $'why not\n\nso be it' "$(screen | sed -n '2,4p')"
	tm capture-pane -e -p | grep -q $'^\033\\[2mwhy not'
}

@test "terminal: SIGTERM at the prompt ends it and leaves the terminal as it was" {
	start -m demo --temp 0
	before=$(stty -a -F "$(tm display-message -p '#{pane_tty}')" | tr ' ' '\n' | grep icanon)
	same -icanon "$before"
	tty=$(tm display-message -p '#{pane_tty}')
	for p in /proc/[0-9]*; do
		name=
		read -r name 2>/dev/null <"$p/comm" || true
		if [ "$name" = infer-run ] && [ "$(readlink "$p/fd/0")" = "$tty" ]; then pid=${p#/proc/}; fi
	done
	kill -TERM "$pid"
	sees '^ended with 143'
	stty -a -F "$tty" | grep -q '[ ;]icanon'
}

@test "terminal: a history that cannot be kept is a warning, no more" {
	mkdir -p .local/state
	: >.local/state/inferutils
	start -m demo --temp 0
	say "$what"
	sees '^inferutils is a set'
	sees '^> *$'
	keys C-d
	sees '^ended with 0'
}
