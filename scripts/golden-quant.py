#!/usr/bin/env python3
"""golden-quant.py LLAMA_CPP [OUT]: write tests/golden/quant/types.txt again: the type that llama.cpp gives to each tensor of a few
model shapes, for every file type, with and without an importance matrix.

The functions that decide it are cut out of LLAMA_CPP/src/llama-quant.cpp, which is not copied into this tree, and compiled
beside stubs of what they ask for.  Needs g++ and the headers of that source.  A line of the table:

    MODEL FILE_TYPE IMATRIX  TYPE[*TIMES] ...

with the tensors in the order of their names without the layer, and of layers."""
import os
import re
import subprocess
import sys
import tempfile

# name: architecture, layers, heads, heads of K and V, experts, LLM_TYPE_70B, tied, tensors of a layer (name, columns, matrices), columns
DENSE = [('attn_q', 256, 1), ('attn_k', 256, 1), ('attn_v', 256, 1), ('attn_output', 256, 1), ('ffn_gate', 256, 1),
         ('ffn_up', 256, 1), ('ffn_down', 256, 1), ('attn_norm', 256, 0)]
MOE = DENSE[:4] + [('ffn_gate_exps', 256, 4), ('ffn_up_exps', 256, 4), ('ffn_down_exps', 256, 4), ('ffn_gate_inp', 256, 1)]
FUSED = [('attn_qkv', 256, 1), ('attn_output', 256, 1), ('ffn_up', 256, 1), ('ffn_down', 256, 1)]
MLA = [('attn_q_a', 256, 1), ('attn_q_b', 256, 1), ('attn_kv_a_mqa', 256, 1), ('attn_kv_b', 256, 1), ('attn_k_b', 256, 4),
       ('attn_output', 256, 1), ('ffn_gate_exps', 256, 4), ('ffn_up_exps', 256, 4), ('ffn_down_exps', 256, 4),
       ('ffn_gate_shexp', 256, 1), ('ffn_up_shexp', 256, 1), ('ffn_down_shexp', 256, 1), ('ffn_gate_inp', 256, 1)]
RAGGED = [('attn_q', 288, 1), ('attn_k', 288, 1), ('attn_v', 288, 1), ('attn_output', 288, 1), ('ffn_up', 288, 1), ('ffn_down', 172, 1)]
MODELS = {
    'llama': ('llama', 16, 32, 8, 0, 0, 0, DENSE, 256),
    'llama-mha': ('llama', 9, 8, 8, 0, 0, 0, DENSE, 256),
    'llama-70b': ('llama', 80, 64, 8, 0, 1, 0, DENSE, 256),
    'mixtral': ('llama', 8, 32, 8, 8, 0, 0, MOE, 256),
    'qwen2-72b': ('qwen2', 80, 64, 8, 0, 1, 0, DENSE, 256),
    'qwen2': ('qwen2', 28, 12, 2, 0, 0, 1, DENSE, 256),
    'qwen3moe': ('qwen3moe', 12, 32, 4, 128, 0, 0, MOE, 256),
    'gemma2': ('gemma2', 26, 8, 4, 0, 0, 1, DENSE, 256),
    'phi3': ('phi3', 32, 32, 32, 0, 0, 0, FUSED, 256),
    'falcon': ('falcon', 20, 71, 1, 0, 0, 0, FUSED, 256),
    'deepseek2': ('deepseek2', 10, 16, 16, 64, 0, 0, MLA, 256),
    'bailingmoe3': ('bailingmoe3', 4, 16, 4, 256, 0, 0, MLA, 256),
    'glm5-next': ('glm5-next', 4, 16, 16, 256, 0, 0, MLA, 256),
    'ragged': ('llama', 8, 6, 2, 0, 0, 0, RAGGED, 288),
}

STUBS = r'''
#include "ggml.h"
#include "llama.h"
#include "llama-arch.h"
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
#define LLAMA_LOG_WARN(...) ((void)0)
enum llm_type { LLM_TYPE_UNKNOWN, LLM_TYPE_70B };
struct llama_hparams { uint32_t n_expert = 0, n_layer_all = 0, gqa = 0; uint32_t n_gqa(uint32_t = 0) const { return gqa; } };
struct llama_model { llm_arch arch; llm_type type = LLM_TYPE_UNKNOWN; llama_hparams hparams; };
static std::string format(const char *f, ...) { (void)f; return "refused"; }
struct name_of { const char *text; std::string operator()(llm_tensor t, const char *) const {
	return t == LLM_TENSOR_POS_EMBD ? "position_embd.weight" : "token_types.weight"; } };
#define LLM_TN(arch) name_of{ nullptr }
static const struct { ggml_type type; const char *name; int block; } types[] = {
	{ GGML_TYPE_F32, "F32", 1 }, { GGML_TYPE_F16, "F16", 1 }, { GGML_TYPE_BF16, "BF16", 1 }, { GGML_TYPE_Q4_0, "Q4_0", 32 },
	{ GGML_TYPE_Q4_1, "Q4_1", 32 }, { GGML_TYPE_Q5_0, "Q5_0", 32 }, { GGML_TYPE_Q5_1, "Q5_1", 32 }, { GGML_TYPE_Q8_0, "Q8_0", 32 },
	{ GGML_TYPE_Q2_K, "Q2_K", 256 }, { GGML_TYPE_Q3_K, "Q3_K", 256 }, { GGML_TYPE_Q4_K, "Q4_K", 256 }, { GGML_TYPE_Q5_K, "Q5_K", 256 },
	{ GGML_TYPE_Q6_K, "Q6_K", 256 }, { GGML_TYPE_IQ2_XXS, "IQ2_XXS", 256 }, { GGML_TYPE_IQ2_XS, "IQ2_XS", 256 },
	{ GGML_TYPE_IQ2_S, "IQ2_S", 256 }, { GGML_TYPE_IQ3_XXS, "IQ3_XXS", 256 }, { GGML_TYPE_IQ3_S, "IQ3_S", 256 },
	{ GGML_TYPE_IQ1_S, "IQ1_S", 256 }, { GGML_TYPE_IQ1_M, "IQ1_M", 256 }, { GGML_TYPE_IQ4_NL, "IQ4_NL", 32 },
	{ GGML_TYPE_IQ4_XS, "IQ4_XS", 256 }, { GGML_TYPE_TQ1_0, "TQ1_0", 256 }, { GGML_TYPE_TQ2_0, "TQ2_0", 256 },
	{ GGML_TYPE_MXFP4, "MXFP4", 32 }, { GGML_TYPE_Q1_0, "Q1_0", 128 }, { GGML_TYPE_Q2_0, "Q2_0", 64 } };
extern "C" int64_t ggml_blck_size(ggml_type t) { for (auto &x : types) if (x.type == t) return x.block; return 0; }
extern "C" const char *ggml_type_name(ggml_type t) { for (auto &x : types) if (x.type == t) return x.name; return "?"; }
extern "C" bool ggml_is_quantized(ggml_type t) { return ggml_blck_size(t) > 1; }
extern "C" const char *ggml_get_name(const ggml_tensor *t) { return t->name; }
extern "C" int ggml_n_dims(const ggml_tensor *t) { for (int i = 3; i >= 1; i--) if (t->ne[i] > 1) return i + 1; return 1; }
'''

MAIN = r'''
int main()
{
	char arch[64], name[64], ft_name[32];
	int layers, gqa, experts, big, n, ft, imatrix;
	long ne[3];
	while (scanf("%63s %d %d %d %d %d", arch, &layers, &gqa, &experts, &big, &n) == 6) {
		llama_model model;
		model.arch = (llm_arch)atoi(arch);
		model.type = big ? LLM_TYPE_70B : LLM_TYPE_UNKNOWN;
		model.hparams.n_expert = experts;
		model.hparams.n_layer_all = layers;
		model.hparams.gqa = gqa;
		std::vector<ggml_tensor> t(n);
		for (auto &x : t) {
			if (scanf("%63s %ld %ld %ld", name, &ne[0], &ne[1], &ne[2]) != 4) return 1;
			memset((void *)&x, 0, sizeof x);
			snprintf(x.name, sizeof x.name, "%s", name);
			x.type = GGML_TYPE_F32;
			for (int i = 0; i < 4; i++) x.ne[i] = i < 3 ? ne[i] : 1;
		}
		if (scanf("%31s %d %d", ft_name, &ft, &imatrix) != 3) return 1;
		llama_model_quantize_params params = {};
		params.ftype = (llama_ftype)ft;
		params.quantize_output_tensor = true;
		params.output_tensor_type = params.token_embedding_type = GGML_TYPE_COUNT;
		quantize_state_impl qs(model, &params);
		std::vector<tensor_metadata> meta(n);
		for (int i = 0; i < n; i++) meta[i].name = t[i].name;
		init_quantize_state_counters(qs, meta);
		qs.has_imatrix = imatrix;
		try {
			for (int i = 0; i < n; i++)
				printf("%s ", ggml_type_name(llama_tensor_get_type(qs, &params, &t[i], llama_ftype_get_default_type(params.ftype), meta[i])));
		} catch (const std::exception &) { printf("refused"); }
		printf("\n");
	}
	return 0;
}
'''


def cut(text, begin, end):
    i = text.index(begin)
    return text[i:text.index(end, i)]


def source(llama):
    text = open(llama + '/src/llama-quant.cpp').read()
    return (STUBS + cut(text, 'enum class tensor_category', 'static void zeros')
            + cut(text, 'static bool tensor_name_match_token_embd', '// dequantization')
            + cut(text, 'static bool tensor_allows_quantization', '// quantization implementation')
            + cut(text, 'ggml_type llama_ftype_get_default_type', '// main quantization driver') + MAIN)


def tensors(model):
    _, layers, _, _, _, _, tied, rows, columns = model
    names = [('token_embd.weight', columns, 2, 1), ('output_norm.weight', columns, 1, 1)]
    names += [] if tied else [('output.weight', columns, 2, 1)]
    for i in range(layers):
        names += [('blk.%d.%s.weight' % (i, n), c, 2 if m else 1, max(m, 1)) for n, c, m in rows]
    return names


def layer(name):
    m = re.match(r'blk\.(\d+)\.', name)
    return int(m[1]) if m else -1


def runs(words):
    out = []
    for w in words:
        if out and out[-1][0] == w:
            out[-1][1] += 1
        else:
            out.append([w, 1])
    return ' '.join(w if n == 1 else '%s*%d' % (w, n) for w, n in out)


def main():
    llama = sys.argv[1]
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    out = sys.argv[2] if len(sys.argv) > 2 else top + '/tests/golden/quant/types.txt'
    work = tempfile.mkdtemp()
    open(work + '/types.cpp', 'w').write(source(llama))
    include = [p for p in os.environ.get('GGML_INCLUDE', '').split(':') if p] + [llama + '/include', llama + '/ggml/include', llama + '/src']
    subprocess.check_call(['g++', '-std=c++17', '-w', *['-I' + p for p in include], '-o', work + '/types', work + '/types.cpp'])
    enum = cut(open(llama + '/include/llama.h').read() if os.path.exists(llama + '/include/llama.h') else
               open(next(p + '/llama.h' for p in include if os.path.exists(p + '/llama.h'))).read(), 'enum llama_ftype', '};')
    ftypes = [(n.replace('ALL_', ''), int(v)) for n, v in
              re.findall(r'^\s*LLAMA_FTYPE_(?:MOSTLY_)?(\w+)\s*=\s*(\d+),', enum, re.M) if n not in ('GUESSED', 'NVFP4')]
    archs = re.findall(r'^\s*LLM_ARCH_(\w+),', cut(open(llama + '/src/llama-arch.h').read(), 'enum llm_arch', '};'), re.M)
    lines = ['# made by scripts/golden-quant.py from llama.cpp']
    for name, model in MODELS.items():
        arch, layers, heads, kv, experts, big, tied, rows, columns = model
        lines.append('model %s %s %d %d %d %d' % (name, arch, layers, heads, kv, experts))
        t = tensors(model)
        lines += ['row %s %d %d' % (n, c, m) for n, c, m in rows] + ['columns %d tied %d' % (columns, tied)]
        # as its loader orders them
        order = sorted(t, key=lambda x: (layer(x[0]), x[0]))
        number = archs.index(arch.upper().replace('-', '_'))
        before = {}
        for ft, value in ftypes:
            for imatrix in 0, 1:
                text = '%d %d %d %d %d %d\n' % (number, layers, heads // kv, experts, big, len(order))
                text += ''.join('%s %d %d %d\n' % x for x in order) + '%s %d %d\n' % (ft, value, imatrix)
                got = subprocess.run([work + '/types'], input=text, text=True, check=True, capture_output=True).stdout.split()
                if 'refused' in got:  # no type fits the shape
                    continue
                of = dict(zip((x[0] for x in order), got))
                got = [of[x[0]] for x in sorted(t, key=lambda x: (x[0].replace('.%d.' % layer(x[0]), '.'), layer(x[0])))]
                if imatrix and before.get(ft) == got:
                    continue
                before[ft] = got
                lines.append('%s %d  %s' % (ft, imatrix, runs(got)))
    os.makedirs(os.path.dirname(out), exist_ok=True)
    open(out, 'w').write('\n'.join(lines) + '\n')


main()
