/* infer-inspect/plan_lines.c - the command lines of a strategy, and other engines. */
#include "plan.h"
#include <infer/device.h>
#include <infer/kvtype.h>

#include <string.h>

/* Append s, quoted for the shell if necessary. */
static void put_word(struct buf *out, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./+=:,@%";

	if (*s && strspn(s, plain) == strlen(s)) {
		buf_puts(out, s);
		return;
	}
	buf_putc(out, '\'');
	for (; *s; s++)
		if (*s == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *s);
	buf_putc(out, '\'');
}

/* Append the model file of a strategy: MODEL.gguf, or MODEL-Q4_K_M.gguf in the current
 * directory. */
static void put_model(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const char *base = strrchr(p->path, '/');
	struct buf name;
	size_t n;

	if (s->type < 0) {
		put_word(out, p->path);
		return;
	}
	base = base ? base + 1 : p->path;
	n = strlen(base);
	if (n > 5 && !strcmp(base + n - 5, ".gguf"))
		n -= 5;
	buf_init(&name, MEM_BASE);
	buf_printf(&name, "%.*s-%s.gguf", (int)n, base, plan_type_name(s->type));
	if (name.bad)
		out->bad = 1;
	else
		put_word(out, name.at);
	buf_fini(&name);
}

int plan_runs(const struct infer_machine *m, const struct infer_setup *how)
{
	if (!(how->gpu_part > 0))
		return RUNS_HERE;
	if (!strstr(m->gpu.name, "NVIDIA") || how->gpus > INFER_SPLIT_MOST ||
	    (how->split != INFER_SPLIT_NONE && how->split != INFER_SPLIT_PIPELINE))
		return RUNS_OTHER;
	return infer_device_kind() ? RUNS_HERE : RUNS_CUDA;
}

static void put_devices(struct buf *out, const struct planned *p, const struct infer_setup *how)
{
	int layers = (int)(how->gpu_part * p->shape.layers + 0.5);

	if (!(how->gpu_part > 0))
		return;
	buf_puts(out, " --device cuda");
	if (layers < p->shape.layers)
		buf_printf(out, " --gpu-layers %d", layers);
	for (int i = 0; i < how->gpus && how->gpus > 1; i++)
		buf_puts(out, i ? ",1" : " --split 1");
}

static void put_engine(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_setup *how = &s->ask.how;

	put_devices(out, p, how);
	if (how->k_type != INFER_F16 || how->v_type != INFER_F16) {
		buf_printf(out, " --kv-type %s", infer_kv_name(how->k_type));
		if (how->v_type != how->k_type)
			buf_printf(out, ",%s", infer_kv_name(how->v_type));
	}
	for (int i = 0; i < p->o->plan.loras.n; i++) {
		buf_puts(out, " --lora ");
		put_word(out, p->o->plan.loras.at[i]);
	}
	if (how->threads)
		buf_printf(out, " -t %d", (int)how->threads);
}

void plan_quant_line(struct buf *out, const struct planned *p, const struct strategy *s)
{
	if (s->type < 0)
		return;
	buf_printf(out, "   infer-quant --type %s ", plan_type_name(s->type));
	put_word(out, p->path);
	buf_putc(out, ' ');
	put_model(out, p, s);
	buf_putc(out, '\n');
}

void plan_run_line(struct buf *out, const struct planned *p, const struct strategy *s)
{
	if (s->runs == RUNS_OTHER) {
		buf_puts(out, "   not with this program: see other engines\n");
		return;
	}
	buf_puts(out, "   infer-run -m ");
	put_model(out, p, s);
	buf_printf(out, " -c %d -n %d", (int)s->ask.ctx, (int)s->ask.output);
	put_engine(out, p, s);
	buf_puts(out, " -f prompt.txt\n");
}

void plan_serve_line(struct buf *out, const struct planned *p, const struct strategy *s)
{
	if (s->runs == RUNS_OTHER)
		return;
	buf_puts(out, "   infer-serve -m ");
	put_model(out, p, s);
	/* KV cache of all users in MiB, with 5 % more for the pages of a step */
	buf_printf(out, " -c %d --kv-bytes %.0fM", (int)s->ask.ctx,
	           s->plan.need.kv * 1.05 / (1 << 20) + 1);
	put_engine(out, p, s);
	buf_putc(out, '\n');
}

const char *plan_other_engine(const struct planned *p)
{
	const struct infer_gpu *g = &p->m->gpu;
	int other = 0;

	for (int i = 0; i < p->n_best; i++)
		other |= p->best[i].runs == RUNS_OTHER;
	if (!other)
		return NULL;
	if (g->unified && strstr(g->name, "Apple"))
		return "llama.cpp or MLX: they use the GPU of this machine (Metal)";
	if (g->unified)
		return "llama.cpp (Vulkan, SYCL or CUDA): it uses the GPU of this machine";
	if (g->count > 1 && strstr(g->name, "AMD"))
		return "vLLM or SGLang with ROCm: they cut layers, and serve many users";
	if (g->count > 1)
		return "vLLM, SGLang or TensorRT-LLM: they cut layers, and serve many users";
	return "llama.cpp (HIP, Vulkan or SYCL): it uses this accelerator, and the host in "
	       "parallel";
}
