-- ack_keep is ack for tasks of which some are kept: keeps is for how long, or 0.
create or replace function @.ack_keep(q int, ids text[], tokens bigint[], charges bigint[], keeps bigint[], results bytea[]) returns setof bigint language plpgsql @looped as $$
declare now bigint := @.now_us();
begin
  insert into @.result (queue, id, tenant, priority, cost, attempt, most, first, ukey, meta, payload, acked, until, result)
  select q, t.id, t.tenant, t.priority, t.cost, t.attempt, t.most, t.first, t.ukey, t.meta, t.payload, now, now + a.keep, a.result
  from (select distinct on (id, token) * from unnest(ids, tokens, keeps, results) with ordinality u(id, token, keep, result, ord) where keep > 0 order by id, token, ord) a
    cross join lateral (select * from @.task t where t.id = a.id and t.queue = q and t.token = a.token and t.state + 0 = 1 for update) t
  on conflict (id, queue) do update set tenant = excluded.tenant, priority = excluded.priority, cost = excluded.cost, attempt = excluded.attempt, most = excluded.most,
    first = excluded.first, ukey = excluded.ukey, meta = excluded.meta, payload = excluded.payload, acked = excluded.acked, until = excluded.until, result = excluded.result;
  return query select * from @.ack(q, ids, tokens, charges);
end $$;

-- unkeep removes what is not kept any longer, each second from where the last time ended. What was acked in a transaction that was open for long may be
-- before that place: now and then it begins anew.
create or replace function @.unkeep(s @.state, now bigint) returns @.state language plpgsql as $$
declare lim int := 2000; cnt int; x bigint;
begin
  if s.swept <> now then return s; end if;          -- maintain has not swept just now
  if random() < 0.0003 then s.kmark := 0; end if;   -- about once an hour
  delete from @.result where ctid = any (array(select ctid from @.result where queue = s.queue and until >= s.kmark and until <= now order by until limit lim for update skip locked));
  get diagnostics cnt = row_count;
  select min(until) into x from (select until from @.result where queue = s.queue and until >= s.kmark order by until, id limit 1) y;
  s.kmark := least(coalesce(x, now), now - 60000000);
  if cnt = lim then s.swept := 0; s.nd := now; end if;
  return s;
end $$;
