# models in the stores of Ollama and LM Studio, and names of models in the forms of other programs
load lib
load serve

# layer TYPE FILE: a layer of a manifest, its blob in the store $OLLAMA_MODELS
layer()
{
	local sum

	sum=$(sha256sum "$2" | cut -c 1-64)
	mkdir -p "$OLLAMA_MODELS/blobs"
	cp "$2" "$OLLAMA_MODELS/blobs/sha256-$sum"
	printf '{"mediaType":"application/vnd.ollama.image.%s","digest":"sha256:%s","size":%s}' "$1" "$sum" "$(stat -c %s "$2")"
}

# manifest NAME LAYER...: NAME is HOST/USER/NAME/TAG
manifest()
{
	local to=$OLLAMA_MODELS/manifests/$1 IFS=,

	shift
	mkdir -p "${to%/*}"
	printf '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{},"layers":[%s]}' "$*" >"$to"
}

setup_more()
{
	# a model with the tokens of ChatML and its template, and the same without the template
	mkmodel --chat chat.gguf && perl -pe 's/tokenizer\.chat_template/tokenizer.chat_nontemp./' chat.gguf >plain.gguf
	printf '{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n' >chatml
	printf '### Instruction:\n{{ .Prompt }}\n### Response:\n' >alpaca
	printf '{"stop":["a"],"temperature":0.5}' >params
	export HOME=$BATS_FILE_TMPDIR/home HF_HOME=$BATS_FILE_TMPDIR/home/hf HF_HUB_OFFLINE=1
	export OLLAMA_MODELS=$BATS_FILE_TMPDIR/store R=registry.ollama.ai
	mkdir -p home
	manifest $R/library/small/1b "$(layer model chat.gguf)" "$(layer template chatml)" "$(layer params params)" "$(layer license params)"
	manifest $R/library/small/latest "$(layer model chat.gguf)"
	manifest $R/me/mine/q8 "$(layer model plain.gguf)" "$(layer template chatml)"
	manifest hf.co/Org/Repo-GGUF/Q8_0 "$(layer model plain.gguf)" "$(layer template alpaca)"
}
setup() { cd "$BATS_FILE_TMPDIR" || return; }

@test "ollama: a model is found by its name, its tag, its user and its host, and answers as its file does" {
	infer-run -q -m chat.gguf --no-stdin --temp 0 -n 8 the of >want
	[ -s want ]
	for m in ollama:small ollama:small:latest ollama:small:1b ollama:registry.ollama.ai/library/small:1b; do
		infer-run -q -m $m --no-stdin --temp 0 -n 8 the of | cmp want -
	done
	infer-run -q -m ollama:me/mine:q8 --no-stdin --raw --temp 0 -n 8 the of >want
	infer-run -q -m plain.gguf --no-stdin --raw --temp 0 -n 8 the of | cmp want -
	infer-run -q -m ollama:hf.co/Org/Repo-GGUF:Q8_0 --no-stdin --raw --temp 0 -n 8 the of | cmp want -
	INFER_MODEL=ollama:small infer-inspect tensors | grep -q token_embd.weight
	infer-inspect show ollama:small:1b | grep -q 'architecture'
	# without OLLAMA_MODELS: the folder of the user
	mkdir -p home/.ollama && ln -sfn "$OLLAMA_MODELS" home/.ollama/models
	env -u OLLAMA_MODELS infer-run -q -m ollama:me/mine:q8 --no-stdin --raw --temp 0 -n 8 the of | cmp want -
}

@test "ollama: a Go template of a known family is replaced by the family's, unless the file has its own; another is refused" {
	for o in '' '--system the'; do
		# shellcheck disable=SC2086
		infer-run -q -m chat.gguf --no-stdin --render $o "of and" >want
		# shellcheck disable=SC2086
		infer-run -q -m ollama:me/mine:q8 --no-stdin --render $o "of and" | cmp want -
	done
	infer-run -v -m ollama:me/mine:q8 --no-stdin --temp 0 -n 2 the 2>err >/dev/null
	grep -q 'Go template is that of ChatML' err
	grep -q "template: that of Ollama's family" err
	fails 3 'Go template \(Ollama\) is not of a known family: give one in Jinja with --template FILE' infer-run -m ollama:hf.co/Org/Repo-GGUF:Q8_0 --no-stdin the
	infer-inspect ollama:hf.co/Org/Repo-GGUF:Q8_0 | grep -q '^template   a Go template of no known family'
	infer-inspect ollama:me/mine:q8 | grep -q '^template   system'
	printf '{{ messages[0].content }}' >t.jinja
	[ "$(infer-run -q -m ollama:hf.co/Org/Repo-GGUF:Q8_0 --no-stdin --template t.jinja --render the)" = the ]
}

@test "ollama: infer-serve, infer-quant and infer-bench take such models" {
	local body='{"messages":[{"role":"user","content":"of and"}],"temperature":0,"max_tokens":6}'

	serve -m ollama:me/mine:q8
	own ask POST /v1/chat/completions "$body" | json choices.0.message.content >got
	infer-run -q -m chat.gguf --no-stdin --temp 0 -n 6 "of and" | cmp got -
	own ask GET /props '' | json chat_template | grep -q im_start
	infer-quant -q --type Q8_0 ollama:me/mine:q8 out.gguf
	infer-quant -q --type Q8_0 plain.gguf want.gguf
	cmp want.gguf out.gguf
	infer-bench run -q -m ollama:small -p 4 -n 4 --repeat 1 | grep -q prefill
}

@test "ollama: the templates of families write what the public templates of their models write" {
	need_shared data/chat-templates
	local messages='{"role":"user","content":"U"},{"role":"assistant","content":"A"},{"role":"user","content":"V"}]'

	echo "[$messages" >plain.json
	echo "[{\"role\":\"system\",\"content\":\"S\"},$messages" >system.json
	# TEMPLATE SYSTEM? GO: some models add a system turn of their own where there is none
	while read -r template only go; do
		printf '%s' "$go" >go
		manifest $R/library/t/latest "$(layer model plain.gguf)" "$(layer template go)"
		for m in plain system; do
			[ "$m" = system ] || [ "$only" = any ] || continue
			infer-run -q -m plain.gguf --no-stdin --render --template "$SHARED/data/chat-templates/templates/$template.jinja" --messages $m.json >want
			[ -s want ]
			infer-run -q -m ollama:t --no-stdin --render --messages $m.json | cmp want -
		done
	done <<-'END'
		Qwen-Qwen3-0.6B any <|im_start|>user {{ .Prompt }}<|im_end|>
		Qwen-Qwen2.5-7B-Instruct system <|im_start|>user {{ .Prompt }}<|im_end|>
		microsoft-Phi-3.5-mini-instruct any <|user|> {{ .Prompt }}<|end|> <|assistant|>
		mistralai-Mistral-Nemo-Instruct-2407 any [INST]{{ .Prompt }}[/INST]
		Mistral-Small-3.2-24B-Instruct-2506 system [SYSTEM_PROMPT]{{ .System }}[/SYSTEM_PROMPT][INST]{{ .Prompt }}[/INST]
		openai-gpt-oss-120b any <|start|>user<|message|>{{ .Prompt }}<|end|><|start|>assistant<|channel|>final
	END
	rm "$OLLAMA_MODELS/manifests/$R/library/t/latest"
}

@test "ollama: layers that are not used are named with -v, a projector always, an adapter refuses the model" {
	infer-run -v -m ollama:small:1b --no-stdin --temp 0 -n 2 the 2>err >/dev/null
	grep -q 'ollama:small:1b: params of Ollama are not used' err
	manifest $R/library/sees/latest "$(layer model chat.gguf)" "$(layer projector params)"
	infer-run -m ollama:sees --no-stdin --temp 0 -n 2 the 2>err >/dev/null
	grep -q 'ollama:sees:latest: the projector for images is not used: .*/blobs/sha256-' err
	infer-run -q -m ollama:sees --no-stdin --temp 0 -n 2 the 2>err >/dev/null
	[ ! -s err ]
	manifest $R/library/tuned/latest "$(layer model chat.gguf)" "$(layer adapter params)"
	fails 3 'image.adapter is not supported' infer-run -m ollama:tuned the
	manifest $R/library/many/latest "$(layer model chat.gguf)" "$(layer model plain.gguf)"
	fails 3 'a model of several files is not supported' infer-run -m ollama:many the
	manifest $R/library/cloud/latest "$(layer license params)"
	fails 3 'has no model on this machine' infer-run -m ollama:cloud the
	rm -r "$OLLAMA_MODELS/manifests/$R/library/"{sees,tuned,many,cloud}
}

@test "ollama: a model that is missing is answered with those that are there" {
	fails 1 'ollama:smal: is not in the store of Ollama; did you mean ollama:small:1b\?' infer-run -m ollama:smal the
	fails 1 'ollama:small:3b: is not in the store of Ollama; did you mean ollama:small:1b\?' infer-run -m ollama:small:3b the
	fails 1 'ollama:zzzzz: is not in the store of Ollama; there are ollama:hf.co/Org/Repo-GGUF:Q8_0, ollama:me/mine:q8, ollama:small:1b' infer-run -m ollama:zzzzz the
	OLLAMA_MODELS=$PWD/none fails 1 'none has no models of Ollama' infer-run -m ollama:small the
	for m in ollama: ollama:../x ollama:a/../b ollama:a:../../etc/passwd ollama:a/b/c/d 'ollama:a b' ollama:/etc/passwd; do
		fails 2 'is not a name of Ollama' infer-run -m "$m" the
	done
}

@test "ollama: a damaged store is refused in one line" {
	local OLLAMA_MODELS=$PWD/bad sum
	export OLLAMA_MODELS

	manifest $R/library/m/latest "$(layer model chat.gguf)"
	infer-run -q -m ollama:m --no-stdin --temp 0 -n 2 the
	sum=$(sha256sum chat.gguf | cut -c 1-64)
	truncate -s -1 "bad/blobs/sha256-$sum"
	fails 3 'must have [0-9]* bytes, and has [0-9]*; .ollama pull m' infer-run -m ollama:m the
	rm "bad/blobs/sha256-$sum"
	fails 1 'its file sha256-.* is missing; .ollama pull m' infer-run -m ollama:m the
	mkdir "bad/blobs/sha256-$sum"
	fails 3 'is not a regular file' infer-run -m ollama:m the
	for text in '' '{' '[]' '{"layers":1}' '{"layers":[{}]}' \
		'{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:../../../../../../../../../../../../../../../../../../../etc/passwd","size":1}]}' \
		'{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"md5:00","size":1}]}'; do
		printf '%s' "$text" >bad/manifests/$R/library/m/latest
		fails 3 'library/m/latest: ' infer-run -m ollama:m the
	done
	head -c 5000000 /dev/zero >bad/manifests/$R/library/m/latest
	fails 3 'has more than 4194304 bytes' infer-run -m ollama:m the
	rm bad/manifests/$R/library/m/latest
	mkfifo bad/manifests/$R/library/m/latest
	fails 3 'is not a regular file' infer-run -m ollama:m the
}

@test "ollama: other architectures are refused by name" {
	local OLLAMA_MODELS=$PWD/other
	export OLLAMA_MODELS

	# the same bytes under another name
	perl -pe 's/(general\.architecture\x08\0\0\0)\x05\0{7}llama/$1\x05\0\0\0\0\0\0\0wordy/' chat.gguf >wordy.gguf
	perl -pe 's/\x10\0{7}llama\.vocab_size/\x18\0\0\0\0\0\0\0llama.vision.block_count/' chat.gguf >vision.gguf
	manifest $R/library/wordy/latest "$(layer model wordy.gguf)"
	manifest $R/library/vision/latest "$(layer model vision.gguf)"
	fails 3 'architecture wordy is not supported; these run: llama' infer-run -m ollama:wordy the
	fails 3 'key llama.vision.block_count: a model of images and text in one file' infer-run -m ollama:vision the
}

@test "ollama: a store that may not be read is answered with the group that may" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be another user"
	command -v setpriv >/dev/null || skip "needs setpriv (package util-linux)"
	local OLLAMA_MODELS=/tmp/stores.$$/models
	export OLLAMA_MODELS

	mkdir -p "${OLLAMA_MODELS%/*}/bin"
	cp "$B/infer-run" "${OLLAMA_MODELS%/*}/bin"
	manifest $R/library/m/latest "$(layer model chat.gguf)"
	chmod 755 "${OLLAMA_MODELS%/*}"
	chgrp daemon "$OLLAMA_MODELS" && chmod 750 "$OLLAMA_MODELS"
	cd /
	if setpriv --reuid 65534 --clear-groups true; then
		setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_CACHE_HOME=/nowhere HOME=/nowhere "${OLLAMA_MODELS%/*}/bin/infer-run" -m ollama:m the 2>"$BATS_FILE_TMPDIR/err" && false
		grep -q 'Permission denied; group daemon may read it: sudo usermod -aG daemon' "$BATS_FILE_TMPDIR/err"
		chmod 700 "$OLLAMA_MODELS"
		setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_CACHE_HOME=/nowhere HOME=/nowhere "${OLLAMA_MODELS%/*}/bin/infer-run" -m ollama:m the 2>"$BATS_FILE_TMPDIR/err" && false
		grep -q 'Permission denied; only its owner may read it' "$BATS_FILE_TMPDIR/err"
	fi
	rm -r "${OLLAMA_MODELS%/*}"
}

@test "lmstudio: the file of a repository, of several the one that is chosen or named, a directory as it is" {
	local at=home/.lmstudio/models

	mkdir -p $at/org/one-GGUF $at/org/two-GGUF $at/mlx/dir
	cp chat.gguf $at/org/one-GGUF/one-Q8_0.gguf
	cp chat.gguf $at/org/two-GGUF/two-Q4_K_M.gguf
	cp plain.gguf $at/org/two-GGUF/two-Q8_0.gguf
	cp params $at/org/two-GGUF/mmproj-two-F16.gguf
	mkhf chat.gguf $at/mlx/dir
	infer-run -q -m chat.gguf --no-stdin --temp 0 -n 8 the of >want
	for m in org/one-GGUF org/two-GGUF org/two-GGUF:Q4_K_M org/two-GGUF:two-Q4_K_M.gguf mlx/dir; do
		infer-run -q -m lmstudio:$m --no-stdin --temp 0 -n 8 the of | cmp want -
	done
	infer-run -m lmstudio:org/two-GGUF --no-stdin --temp 0 -n 2 the 2>err >/dev/null
	grep -q 'lmstudio:org/two-GGUF: Q4_K_M of 2 GGUF models' err
	grep -q 'mmproj-two-F16.gguf' err
	fails 1 'lmstudio:org/tow-GGUF: is not in the store of LM Studio; did you mean lmstudio:org/two-GGUF\?' infer-run -m lmstudio:org/tow-GGUF the
	fails 2 'Q3_K' infer-run -m lmstudio:org/two-GGUF:Q3_K the
	for m in lmstudio: lmstudio:org lmstudio:org/../x lmstudio:../org lmstudio:a/b@rev; do
		fails 2 'must be lmstudio:ORG/REPO' infer-run -m $m the
	done
	# the folder that a file of LM Studio names, and the one of older versions
	mkdir -p home/.cache/lm-studio/models moved/models/org
	mv $at/org/one-GGUF home/.cache/lm-studio/models/ && mkdir home/.cache/lm-studio/models/old && mv home/.cache/lm-studio/models/one-GGUF home/.cache/lm-studio/models/old/
	infer-run -q -m lmstudio:old/one-GGUF --no-stdin --temp 0 -n 8 the of | cmp want -
	mv $at/org/two-GGUF moved/models/org/
	printf '%s\n' "$PWD/moved" >home/.lmstudio-home-pointer
	infer-run -q -m lmstudio:org/two-GGUF --no-stdin --temp 0 -n 8 the of | cmp want -
	mkdir -p far/org && mv moved/models/org/two-GGUF far/org/
	printf '{"downloadsFolder":"%s"}' "$PWD/far" >moved/settings.json
	infer-run -q -m lmstudio:org/two-GGUF --no-stdin --temp 0 -n 8 the of | cmp want -
	HOME=$PWD/none fails 1 'none/.lmstudio/models has no models of LM Studio' infer-run -m lmstudio:a/b the
}

@test "names in the forms of other programs are answered with the line to type" {
	# GIVEN WANTED
	while read -r given wanted; do
		fails 1 "-m $wanted\$" infer-run -m "$given" the
	done <<-'END'
		Qwen/Qwen3-0.6B hf:Qwen/Qwen3-0.6B
		Qwen/Qwen3-0.6B-GGUF:Q8_0 hf:Qwen/Qwen3-0.6B-GGUF:Q8_0
		hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0 hf:Qwen/Qwen3-0.6B-GGUF:Q8_0
		huggingface.co/Qwen/Qwen3-0.6B hf:Qwen/Qwen3-0.6B
		HF:Qwen/Qwen3-0.6B:Q8_0 hf:Qwen/Qwen3-0.6B:Q8_0
		https://huggingface.co/Qwen/Qwen3-0.6B hf:Qwen/Qwen3-0.6B
		https://huggingface.co/Qwen/Qwen3-0.6B/tree/main hf:Qwen/Qwen3-0.6B
		https://huggingface.co/Qwen/Qwen3-0.6B/tree/v1 hf:Qwen/Qwen3-0.6B@v1
		https://huggingface.co/o/r/blob/main/a-Q8_0.gguf hf:o/r:a-Q8_0.gguf
		https://huggingface.co/o/r/resolve/abc/sub/a.gguf?download=true hf:o/r@abc:sub/a.gguf
		o/r/a-Q8_0.gguf hf:o/r:a-Q8_0.gguf
		llama3.2:1b ollama:llama3.2:1b
		https://ollama.com/library/llama3.2:1b ollama:llama3.2:1b
		ollama/llama3.2 ollama:llama3.2
	END
	fails 1 'is not the address of a model' infer-run -m https://huggingface.co/datasets/a/b the
	fails 1 'is an address: download the file' infer-run -m https://example.org/m.gguf the
	fails 1 "models of Docker's registry are not read" infer-run -m docker:ai/smollm2 the
	# paths stay paths
	for m in no.gguf no/no.gguf ./Qwen/Qwen3 /no/no.gguf; do fails 1 "$m: No such file or directory" infer-run -m $m the; done
	mkdir -p Qwen ollama && for m in Qwen/Qwen3-0.6B ollama/llama3.2; do fails 1 "$m: No such file or directory" infer-run -m $m the; done
	rmdir Qwen ollama
	cp chat.gguf a:b && infer-run -q -m a:b --no-stdin --temp 0 -n 1 the
	fails 1 '-m hf:Qwn/Qwen3$' infer-bench run -m Qwn/Qwen3
	fails 1 '-m hf:Qwn/Qwen3$' infer-serve -m Qwn/Qwen3
	fails 1 '-m hf:Qwn/Qwen3$' infer-quant --type Q8_0 Qwn/Qwen3 out.gguf
	fails 1 '-m hf:Qwn/Qwen3$' infer-inspect show Qwn/Qwen3
}

@test "-hf of llama.cpp is answered with the line to type, in every program" {
	for p in infer-run infer-inspect infer-serve 'infer-bench run' 'infer-quant eval'; do
		# shellcheck disable=SC2086
		fails 2 'unknown option -hf; a model of the hub is -m hf:o/r:Q8_0$' $p -hf o/r:Q8_0
	done
	fails 2 'unknown option -hf; a model of the hub is -m hf:ORG/REPO' infer-run -hf
	fails 2 'unknown option -hf; a model of the hub is -m hf:o/r$' infer-run the -hf hf:o/r -n 4
	fails 2 'unknown option --hf-repo; a model of the hub is -m hf:ORG/REPO' infer-run --hf-repo o/r
	fails 2 'unknown option --hf-token; .*HF_TOKEN' infer-run --hf-token x
	infer-run -h | grep -q '^Usage: infer-run'
	infer-run -q -m chat.gguf --no-stdin --render -- -hf o/r | grep -q -e '-hf o/r'
}

@test "a PyTorch checkpoint is called one, wherever its pickle is in the archive" {
	# members of a zip archive that are stored
	perl -e 'sub member { my ($n, $d) = @_; pack("Vv5V3v2", 0x04034b50, 20, 0, 0, 0, 0, 0, length $d, length $d, length $n, 0) . $n . $d }
		print member("pytorch_model/data.pkl", "\x80\x02."), member("pytorch_model/version", "3\n")' >first.bin
	perl -e 'sub member { my ($n, $d) = @_; pack("Vv5V3v2", 0x04034b50, 20, 0, 0, 0, 0, 0, length $d, length $d, length $n, 0) . $n . $d }
		print member("archive/.format_version", "1"), member("archive/version", "3\n"), member("archive/data.pkl", "\x80\x02.")' >later.bin
	for f in first.bin later.bin; do fails 3 'this is a PyTorch checkpoint: convert it' infer-run -m $f the; done
	perl -e 'print pack("Vv5V3v2", 0x04034b50, 20, 0, 0, 0, 0, 0, 1, 1, 5, 0), "a.txt", "x"' >other.zip
	fails 3 'this is a zip archive; unpack it first' infer-run -m other.zip the
}
