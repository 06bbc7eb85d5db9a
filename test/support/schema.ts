import type { Queryable } from '../../src/platform/db.ts';

/**
 * The schema `posthorn` as text, read from the catalogue: what db/schema.sql holds. For people to read and for a test to
 * compare; the migrations are what makes it.
 */
export async function describeSchema(db: Queryable): Promise<string> {
  const parts = [];
  for (const query of [sequences, domains, tables, indexes, functions, triggers])
    parts.push(await db.query(query));
  return `${parts.flatMap(({ rows }) => rows.map(({ text }: { text: string }) => text)).join('\n\n')}\n`;
}

const tables = `
select 'create table ' || 'posthorn.' || quote_ident(relname) || E' (\\n' || columns.text || coalesce(E',\\n' || constraints.text, '') || E'\\n)'
  || coalesce(' with (' || array_to_string(tables.reloptions, ', ') || ')', '') || ';'
  || coalesce(E'\\ncomment on table posthorn.' || quote_ident(relname) || ' is ' || quote_literal(obj_description(tables.oid, 'pg_class')) || ';', '')
  as text
from pg_class as tables,
lateral (
  select string_agg('  ' || quote_ident(attname) || ' ' || format_type(atttypid, atttypmod)
    || case when collname is not null and collname <> 'default' then ' collate ' || quote_ident(collname) else '' end
    || case when attstorage = 'e' then ' storage external' else '' end
    || case attidentity when 'a' then ' generated always as identity' else '' end
    || coalesce(' default ' || pg_get_expr(adbin, adrelid), '')
    || case when attnotnull then ' not null' else '' end, E',\\n' order by attnum) as text
  from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    left join pg_collation on pg_collation.oid = attcollation
  where attrelid = tables.oid and attnum > 0 and not attisdropped
) as columns,
lateral (
  select string_agg('  ' || pg_get_constraintdef(oid, true), E',\\n' order by contype, conname) as text
  from pg_constraint where conrelid = tables.oid and contype in ('c', 'f', 'p', 'u')
) as constraints
where relnamespace = 'posthorn'::regnamespace and relkind = 'r' order by relname`;

const sequences = `
select 'create sequence posthorn.' || quote_ident(sequencename) || ' as ' || data_type || ' cache ' || cache_size || ';' as text
from pg_sequences where schemaname = 'posthorn' and not exists (
  select from pg_depend where objid = ('posthorn.' || quote_ident(sequencename))::regclass and deptype = 'i')
order by sequencename`;

const domains = `
select 'create domain posthorn.' || quote_ident(typname) || ' as ' || format_type(typbasetype, typtypmod)
  || case when collname is not null and collname <> 'default' then ' collate ' || quote_ident(collname) else '' end
  || coalesce(' ' || (select string_agg(pg_get_constraintdef(oid, true), ' ' order by conname) from pg_constraint where contypid = pg_type.oid and contype = 'c'), '')
  || ';' as text
from pg_type left join pg_collation on pg_collation.oid = typcollation
where typnamespace = 'posthorn'::regnamespace and typtype = 'd' order by typname`;

const indexes = `
select indexdef || ';' as text from pg_indexes
where schemaname = 'posthorn' and indexname not in (select conname from pg_constraint where connamespace = 'posthorn'::regnamespace)
order by tablename, indexname`;

const functions = `
select pg_get_functiondef(oid) || ';' as text from pg_proc where pronamespace = 'posthorn'::regnamespace order by proname`;

const triggers = `
select pg_get_triggerdef(pg_trigger.oid) || ';' as text from pg_trigger join pg_class on pg_class.oid = tgrelid
where relnamespace = 'posthorn'::regnamespace and not tgisinternal order by tgname`;
