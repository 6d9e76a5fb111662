# the devices that options name.  Without a GPU: errors, and what auto does then
load lib

go() { infer-run -q --no-stdin --temp 0 --ignore-eos -n 8 "$@"; }
no_gpu='this build has no CUDA backend \(make CUDA=1\)|no NVIDIA driver|no CUDA device'
need_no_gpu()
{
	infer-inspect hw --json | json gpu | grep -q '^no' || skip "is for machines without a GPU"
}

@test "a device that is malformed is an error of usage" {
	for d in gpu CUDA cuda0 cuda: cuda:x cuda:-1 cuda:1000 cpu:0 none; do
		fails 2 "--device: '$d' is not one of auto, cpu, cuda, cuda:N" infer-run --device "$d" x
	done
	fails 2 "--device: '' is empty|--device" infer-run --device '' x
	for n in all -1 1.5 '' 2x 9999999; do fails 2 '--gpu-layers' infer-run --gpu-layers="$n" x; done
	fails 2 '--gpu-layers 2: --device cpu has no GPU' infer-run --gpu-layers 2 --device cpu x
	fails 2 '--gpu-layers 0: that is --device cpu' infer-run --gpu-layers 0 --device cuda:1 x
	for s in , 3, ,1 3,,1 0 1,0 -1 1.5 x 3:1 1,2,3,4,5,6,7,8,9; do fails 2 '--split' infer-run --split="$s" x; done
	fails 2 '--split 3,1: it goes with --device cuda, not cpu' infer-run --split 3,1 --device cpu x
	fails 2 '--split 3,1: it goes with --device cuda, not cuda:1' infer-run --split 3,1 --device cuda:1 x
	fails 2 '--split 3,1: it goes with --device cuda, not cpu' infer-run --split 3,1 --gpu-layers 0 x
	fails 2 '--split 3,1: --gpu-layers must be a number' infer-run --split 3,1 --gpu-layers auto x
	fails 2 '--cpu-experts: --device cpu has no GPU' infer-run --cpu-experts --device cpu x
	fails 2 '--cpu-experts: --device cpu has no GPU' infer-run --cpu-experts --gpu-layers 0 x
	fails 2 '--cpu-experts takes no value' infer-run --cpu-experts=4 x
	fails 2 'goes with run only' infer-bench kernels --split 1,1
	fails 2 'goes with run only' infer-bench kernels --cpu-experts
	fails 2 'options of eval and imatrix go with' infer-quant --type q8_0 --cpu-experts "$M" out.gguf
	fails 2 '--sandbox: no GPU computes with it' infer-run --sandbox --cpu-experts x
	fails 2 'options of eval and imatrix go with' infer-quant --type q8_0 --split 1,1 "$M" out.gguf
	fails 2 '--sandbox: no GPU computes with it' infer-run --sandbox --split 1,1 x
	fails 2 '--sandbox: no GPU computes with it' infer-run --sandbox --device cuda x
	fails 2 '--sandbox: no GPU computes with it' infer-run --sandbox --gpu-layers 3 x
	fails 2 '--device goes with this machine' infer-inspect plan --device cuda --hw h100
	fails 2 '--ctx, --users, .* go with plan only' infer-inspect show --device cuda
	fails 2 'goes with run only' infer-bench kernels --device cpu
	fails 2 'options of eval and imatrix go with' infer-quant --type q8_0 --device cpu "$M" out.gguf
}

@test "a GPU that is asked for and not there is exit 1, with one line that says why, in every program" {
	need_no_gpu
	echo "$(yes the | head -n 1200 | tr '\n' ' ')" >text
	fails 1 "($no_gpu)" infer-run --device cuda x
	fails 1 "($no_gpu)" infer-run --device cuda:7 x
	fails 1 "($no_gpu)" infer-run --gpu-layers 2 x
	fails 1 "($no_gpu)" infer-run --split 1,1 x
	fails 1 "($no_gpu)" infer-run --cpu-experts x
	fails 1 "($no_gpu)" infer-run --cpu-experts --device auto x
	fails 1 "($no_gpu)" infer-serve --split 1,1 -m "$M" --listen unix:socket
	fails 1 "($no_gpu)" infer-serve --cpu-experts -m "$M" --listen unix:socket
	fails 1 "($no_gpu)" infer-bench run --device cuda -m "$M" -p 8 -n 0
	fails 1 "($no_gpu)" infer-quant eval --device cuda -m "$M" -f text
	fails 1 "($no_gpu)" infer-serve --device cuda -m "$M" --listen unix:socket
	fails 1 "($no_gpu)" infer-inspect plan --device cuda -m "$M"
}

@test "without a GPU auto computes on the CPU, silently, and --deterministic changes nothing" {
	need_no_gpu
	go -o jsonl the >want
	same cpu:0-1 "$(json run.placement <want)"
	for o in --device=auto --device=cpu --gpu-layers=auto --gpu-layers=0 --deterministic; do
		go -o jsonl $o the >got 2>err
		[ ! -s err ]
		same "$(json text <want)" "$(json text <got)"
		same cpu:0-1 "$(json run.placement <got)"
		same "[\"$o\"]" "$(json run.flags <got | sed 's/,"--temp=[^]]*//; s/"--temp=0",*//; s/"--ignore-eos",*//; s/,]/]/')"
	done
	if [ -z "${SAN:-}" ]; then # a build with sanitizers refuses it
		go --sandbox the >got
		same "$(json text <want)" "$(cat got)"
	fi
	infer-quant eval -m "$M" --device auto --deterministic -f <(yes the | head -n 1200 | tr '\n' ' ')
}

@test "a record names its devices, and --replay asks for them" {
	go -o jsonl --with-request --logprobs 0 the >one
	infer-run --replay one
	need_no_gpu
	sed 's|"placement":"cpu:0-1"|"placement":"cuda/sm_90:0-1"|' one >gpu
	! cmp -s one gpu
	fails 1 "($no_gpu)" infer-run --replay gpu
	fails 2 'was made with the placement cuda/sm_90:0-1' infer-run --replay gpu --device cpu
	sed 's|"placement":"cpu:0-1"|"placement":"cuda0/sm_90:0-0,cuda1/sm_90:1-1"|' one >two
	fails 1 "($no_gpu)" infer-run --replay two
	sed 's|"placement":"cpu:0-1"|"placement":"cpu:0-0,cuda/sm_90:1-1"|' one >both
	fails 1 "($no_gpu)" infer-run --replay both
	fails 2 'was made with the placement cpu:0-0,cuda/sm_90:1-1' infer-run --replay both --device cpu
	sed 's|"placement":"cpu:0-1"|"placement":"cuda/sm_90:0-1+cpu-experts"|' one >experts
	fails 1 "($no_gpu)" infer-run --replay experts
	fails 2 'was made with the placement cuda/sm_90:0-1\+cpu-experts' infer-run --replay experts --device cpu
}

@test "a plan of the CPU has no device, and models that a file names are computed by the CPU" {
	infer-inspect plan -m "$M" --json >a
	infer-inspect plan -m "$M" --json --device cpu >b
	same null "$(json device <a)"
	same null "$(json device <b)"
	printf 'infer-serve: 1\nmodels:\n  a: {model: "%s", device: cuda}\n' "$M" >serve.yaml
	fails 3 'serve.yaml: line 3.*a model of a configuration: no GPU computes with it' infer-serve --config serve.yaml
	sed -i 's/device: cuda/gpu-layers: "2"/' serve.yaml
	fails 3 'a model of a configuration: no GPU' infer-serve --config serve.yaml
	sed -i 's/gpu-layers: "2"/cpu-experts: true/' serve.yaml
	fails 3 'a model of a configuration: no GPU' infer-serve --config serve.yaml
	fails 2 '--config: no GPU computes with it: --device cpu' infer-serve --device cuda --config serve.yaml
}
