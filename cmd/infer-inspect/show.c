/* infer-inspect/show.c - format, sizes, id and metadata of a model file. */
#include "inspect.h"
#include "base/err.h"
#include "base/utf8.h"

#include <string.h>

/* Text output cuts longer arrays and strings; JSON does not.  Without --all each key has one line of at most
 * COLUMNS, and the output has at most LINES. */
enum { SHOWN_ELEMENTS = 8, SHOWN_BYTES = 200, COLUMNS = 79, LINES = 40 };

void put_plain(struct buf *out, struct infer_str s, size_t max)
{
	size_t i = 0;

	while (i < s.len && i < max) {
		uint32_t cp;
		int k = utf8_get(s.at + i, s.len - i, &cp);

		if (!k || cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
			k = k ? k : (int)utf8_bad(s.at + i, s.len - i);
			for (int j = 0; j < k; j++)
				buf_printf(out, "\\x%02x", (unsigned char)s.at[i + (size_t)j]);
		} else {
			buf_put(out, s.at + i, (size_t)k);
		}
		i += (size_t)k;
	}
	if (i < s.len)
		buf_printf(out, "... (%zu bytes)", s.len);
}

void put_size(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes / 1024;
	int u = 0;

	for (; v >= 1024 && u < 3; u++)
		v /= 1024;
	buf_printf(out, "%.1f %s", v, units[u]);
}

void put_bytes(struct buf *out, uint64_t bytes)
{
	buf_printf(out, "%llu", (unsigned long long)bytes);
	if (bytes < 1024)
		return;
	buf_puts(out, " (");
	put_size(out, bytes);
	buf_putc(out, ')');
}

/* Return the bytes of a line left for a value, after `used` bytes and before the mark of a cut value. */
static size_t room_of(const struct inspect_opts *o, size_t used)
{
	enum { CUT = sizeof "... (1234567 bytes)" - 1, LEAST = 8 };

	if (o->all)
		return SHOWN_BYTES;
	return used + CUT + LEAST < COLUMNS ? COLUMNS - CUT - used : LEAST;
}

static int put_meta_text(struct buf *out, const struct inspect_opts *o, const infer_file *f,
                         const struct infer_meta *m, infer_error *err)
{
	size_t cursor = 0, from = out->len;
	uint64_t i = 0;

	put_plain(out, m->key, room_of(o, 0));
	buf_puts(out, "  ");
	put_meta_type(out, m);
	buf_puts(out, "  ");
	for (; i < m->count && i < SHOWN_ELEMENTS; i++) {
		size_t room = room_of(o, out->len - from);
		if (i && !o->all && room < 12)
			break;
		if (i)
			buf_puts(out, ", ");
		TRY(put_meta_element(out, NULL, f, m, i, &cursor, room, err));
	}
	buf_puts(out, m->count > i ? ", ...\n" : "\n");
	return INFER_OK;
}

/* Append one record for the key. */
static int put_meta_json(struct buf *out, const infer_file *f, const struct infer_meta *m,
                         infer_error *err)
{
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_META, 0);
	jw_strn(&w, "key", m->key.at, m->key.len);
	int rc = put_meta_fields(&w, f, m, err);
	infer_record_close(&w);
	return rc;
}

struct sums {
	uint64_t elements, bytes;
};

static struct sums add_up(const infer_file *f)
{
	const struct infer_tensor *t;
	struct sums s = { 0, 0 };

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		s.elements += (uint64_t)t->ne[0] * (uint64_t)t->ne[1] * (uint64_t)t->ne[2] *
		              (uint64_t)t->ne[3];
		s.bytes += t->bytes;
	}
	return s;
}

static void put_file_text(struct buf *out, const infer_file *f, const struct infer_file_info *info,
                          const char *id)
{
	struct sums s = add_up(f);
	const char *path = infer_file_path(f);
	struct infer_gguf_info gguf;
	int is_gguf = !infer_file_gguf(f, &gguf, NULL);

	buf_puts(out, "file       ");
	put_plain(out, (struct infer_str){ path, strlen(path) }, SIZE_MAX);
	buf_printf(out, "\nformat     %s", info->format);
	if (info->version)
		buf_printf(out, " version %u", info->version);
	if (is_gguf)
		buf_printf(out, ", alignment %llu", (unsigned long long)gguf.alignment);
	buf_printf(out, "\n%s%d\nbytes      ", is_gguf ? "shards     " : "files      ",
	           info->n_shards);
	put_bytes(out, info->file_bytes);
	if (info->packed_bytes) {
		buf_puts(out, "\ncompressed ");
		put_bytes(out, info->packed_bytes);
	}
	if (!is_gguf && info->private_bytes) {
		buf_puts(out, "\ncopied     ");
		put_bytes(out, info->private_bytes);
	}
	if (is_gguf) {
		buf_puts(out, "\nheader     ");
		put_bytes(out, gguf.header_bytes);
	}
	buf_printf(out, "\ntensors    %llu, ", (unsigned long long)info->n_tensors);
	put_bytes(out, s.bytes);
	buf_printf(out, ", %llu elements", (unsigned long long)s.elements);
	if (s.elements)
		buf_printf(out, ", %.3f bits each", 8 * (double)s.bytes / (double)s.elements);
	buf_printf(out, "\nid         %s\n", id);
	put_quality(out, f);
	buf_printf(out, "metadata   %llu keys\n\n", (unsigned long long)info->n_meta);
}

static void put_file_json(struct buf *out, const infer_file *f, const struct infer_file_info *info,
                          const struct verdict *v, const char *id)
{
	struct sums s = add_up(f);
	struct infer_gguf_info gguf;
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_FILE, INFER_RECORD_FIRST);
	jw_str(&w, "name", infer_file_path(f));
	jw_str(&w, "format", info->format);
	if (info->version)
		jw_uint(&w, "version", info->version);
	jw_int(&w, "shards", info->n_shards);
	jw_uint(&w, "file_bytes", info->file_bytes);
	if (info->packed_bytes)
		jw_uint(&w, "packed_bytes", info->packed_bytes);
	if (!infer_file_gguf(f, &gguf, NULL)) {
		jw_uint(&w, "header_bytes", gguf.header_bytes);
		jw_uint(&w, "alignment_bytes", gguf.alignment);
	}
	jw_uint(&w, "metas", info->n_meta);
	jw_uint(&w, "tensors", info->n_tensors);
	jw_uint(&w, "tensor_bytes", s.bytes);
	jw_uint(&w, "elements", s.elements);
	jw_num(&w, "bits_per_weight", s.elements ? 8 * (double)s.bytes / (double)s.elements : 0);
	jw_str(&w, "id", id);
	put_verdict_json(&w, v);
	put_about_json(&w, f, v->model);
	infer_record_close(&w);
}

static size_t count_lines(const struct buf *b, size_t from)
{
	size_t n = 0;

	for (; from < b->len; from++)
		n += b->at[from] == '\n';
	return n;
}

/* Append the keys in the order of the file.  In text without --all, only as many as fit in LINES
 * with a line that counts the others. */
static int put_metas(struct buf *out, const struct inspect_opts *o, const infer_file *f, uint64_t n,
                     size_t lines, infer_error *err)
{
	uint64_t shown = o->json || o->all || n + lines <= LINES ? n : LINES - 1 - lines;

	for (uint64_t i = 0; i < shown; i++) {
		const struct infer_meta *m = infer_file_meta_at(f, i);
		TRY(o->json ? put_meta_json(out, f, m, err) : put_meta_text(out, o, f, m, err));
	}
	if (shown < n)
		buf_printf(out, "... and %llu more keys: --all shows them, --json has them whole\n",
		           (unsigned long long)(n - shown));
	return INFER_OK;
}

int show(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err)
{
	struct infer_file_info info;
	struct verdict v;
	size_t from = out->len;
	char id[65];

	(void)words;
	infer_file_info(file, &info);
	infer_file_id(file, id);
	int rc = judge(&v, file, o->limits.available_bytes, err);
	if (rc)
		return rc;
	if (o->json) {
		put_file_json(out, file, &info, &v, id);
	} else {
		put_verdict(out, &v);
		put_about(out, file, v.model);
		put_file_text(out, file, &info, id);
	}
	infer_model_close(&v.model);
	return put_metas(out, o, file, info.n_meta, count_lines(out, from), err);
}
