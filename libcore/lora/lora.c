/* lora/lora.c - open and close adapters, and describe them. */
#include "lora/inner.h"
#include "backend/check.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"
#include "kern/kern.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* the number of adapters opened so far in this process */
static _Atomic uint64_t lora_serial;

int lora_nomem(const infer_lora *l, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "%s: out of memory", file_label(l->info.path));
}

int lora_fail(const infer_lora *l, struct infer_str from, int code, infer_error *err,
              const char *fmt, ...)
{
	char what[200], name[FILE_QUOTE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	return err_set(err, code, "%s: tensor %s: %s", file_label(l->info.path),
	               file_quote(name, from.at, from.len), what);
}

/* Return the last component of a path, without slashes after it and without `.gguf`. */
static struct infer_str base_name(const char *path)
{
	size_t n = strlen(path), from;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (from = n; from > 0 && path[from - 1] != '/'; from--)
		;
	if (n - from > 5 && !memcmp(path + n - 5, ".gguf", 5))
		n -= 5;
	return (struct infer_str){ path + from, n - from };
}

static int alloc_lora(infer_lora **out, const infer_model *m, const char *path, infer_log_fn *log,
                      void *log_user, infer_error *err)
{
	infer_lora *l = mem_zalloc(MEM_ARCH, 1, sizeof *l);
	size_t n = (size_t)m->n_weights;

	*out = l;
	if (!l)
		return err_nomem(err);
	atomic_init(&l->refs, 1);
	arena_init(&l->arena, MEM_ARCH);
	l->m = m;
	l->log = log;
	l->log_user = log_user;
	l->product = arena_alloc(&l->arena, n, sizeof *l->product);
	l->table = arena_alloc(&l->arena, n, sizeof *l->table);
	l->roles = arena_alloc(&l->arena, n, 1);
	l->info.path = arena_strndup(&l->arena, path, strlen(path));
	if (!l->product || !l->table || !l->roles || !l->info.path)
		return err_nomem(err);
	l->adapter = (struct backend_adapter){
		.product = l->product, .table = l->table, .n_weights = m->n_weights, .max_rank = 1
	};
	l->info.name = base_name(l->info.path);
	l->info.model = m;
	l->info.sha256 = l->sha256;
	l->add_scaled = kern_select(cpu_features()).add_scaled;
	return INFER_OK;
}

/* Log one sentence about what was read. */
static void log_opened(const infer_lora *l)
{
	char line[256];

	snprintf(line, sizeof line, "adapter %s: %d tensors, rank up to %d, %.1f MiB",
	         file_label(l->info.path), l->info.n_entries, l->info.max_rank,
	         (double)l->info.bytes / (1 << 20));
	if (l->log)
		l->log(l->log_user, INFER_LOG_INFO, line);
}

static int read_adapter(infer_lora *l, infer_error *err)
{
	const struct backend_model parts = arch_parts(l->m);
	struct os_stat st;
	unsigned char head[8];
	size_t n;

	TRY(os_look(&st, l->info.path, head, sizeof head, &n, err));
	lora_find_roles(l);
	TRY(st.kind == OS_DIRECTORY ? lora_read_peft(l, err) : lora_read_gguf(l, err));
	if (!l->info.n_entries)
		return err_set(err, INFER_EFORMAT, "%s: the adapter has no tensors",
		               file_label(l->info.path));
	TRY(backend_check_adapter(&parts, &l->adapter, err));
	l->info.serial = atomic_fetch_add(&lora_serial, 1) + 1;
	log_opened(l);
	return INFER_OK;
}

int infer_lora_open(infer_lora **out, const infer_model *m, const char *path, infer_log_fn *log,
                    void *log_user, infer_error *err)
{
	int rc = alloc_lora(out, m, path, log, log_user, err);

	if (!rc)
		rc = read_adapter(*out, err);
	if (rc)
		infer_lora_close(out);
	return rc;
}

infer_lora *infer_lora_ref(infer_lora *l)
{
	atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

static void free_lora(infer_lora *l)
{
	if (l->file && l->is_gguf) {
		infer_file_close(&l->file);
	} else if (l->file) {
		file_drop(l->file);
		mem_free(l->file);
	}
	arena_fini(&l->arena);
	mem_free(l);
}

void infer_lora_close(infer_lora **lora)
{
	infer_lora *l = *lora;

	*lora = NULL;
	if (l && atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) == 1)
		free_lora(l);
}

void infer_lora_info(const infer_lora *l, struct infer_lora_info *info) { *info = l->info; }

void infer_lora_entry(const infer_lora *l, int32_t i, struct infer_lora_entry *entry)
{
	*entry = l->items[i].entry;
}

const struct backend_adapter *lora_adapter(const infer_lora *l) { return &l->adapter; }
