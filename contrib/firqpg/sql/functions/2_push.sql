-- push accepts tasks. Per task, in order: 1 accepted; 0 known already; -1 the tenant is full; -2 the queue is; 2 and the id that has the
-- unique key. strict: 1: this is the whole transaction, so that limits can be checked under the lock; 0: it is not; -1: there are no limits.
-- All that may wait for others (the same id, the same key) comes before the lock, and in one order: calls do not deadlock, and a
-- transaction that stays open holds up nobody else.
create or replace function @.push(q int, strict int, ids text[], tenants text[], prios smallint[], costs bigint[], ws float8[], ats bigint[], delays bigint[],
  deadlines bigint[], mosts int[], ukeys text[], ufors bigint[], metas bytea[], loads bytea[]) returns table (res int, owner text) language plpgsql @indexed as $$
declare now bigint := @.now_us(); c @.queue; at bigint;
begin
  select * into c from @.queue where queue.id = q;
  if c.maxqueued > 0 or c.maxqueuedpertenant > 0 or c.capped or array_to_string(ukeys, '') <> '' then
    return query select * from @.push_checked(c, now, strict, ids, tenants, prios, costs, ws, ats, delays, deadlines, mosts, ukeys, ufors, metas, loads);
  elsif cardinality(ids) = 1 then
    at := case when ats[1] > 0 then ats[1] else now + delays[1] end;
    insert into @.task (queue, id, tenant, state, priority, cost, attempt, most, queued, first, due, deadline, score, meta, payload)
      values (q, ids[1], tenants[1], case when at > now then 2 else 0 end, prios[1], costs[1], 0, mosts[1], now, greatest(at, now), at, deadlines[1],
        @.score(greatest(at, now), prios[1], c.aging), metas[1], loads[1])
      on conflict do nothing;
    if found then
      insert into @.log (queue, xid, tenant, kind, n, low, w)
        values (q, pg_current_xact_id(), tenants[1], case when at > now then 2 else 1 end, 1, case when at > now then at else @.score(now, prios[1], c.aging) end, ws[1]);
      res := 1;
    else res := 0; end if;
    return next;
  else
    return query with a as materialized (
      select u.*, case when u.due > 0 then u.due else now + ord - 1 + u.delay end due0 from unnest(ids, tenants, prios, costs, ws, ats, delays, deadlines, mosts, metas, loads)
        with ordinality u(id, tenant, prio, cost, w, due, delay, deadline, most, meta, load, ord)
    ), new as (
      insert into @.task (queue, id, tenant, state, priority, cost, attempt, most, queued, first, due, deadline, score, meta, payload)
      select q, a.id, a.tenant, case when due0 > now + ord - 1 then 2 else 0 end, a.prio, a.cost, 0, a.most, now + ord - 1, greatest(due0, now + ord - 1), due0, a.deadline,
        @.score(greatest(due0, now + ord - 1), a.prio, c.aging), a.meta, a.load from a order by a.id, a.ord -- of two with one id the first counts
      on conflict do nothing returning task.id, task.tenant, task.state, task.score, task.due, task.queued
    ), l as (
      insert into @.log (queue, xid, tenant, kind, n, low, w)
      select q, pg_current_xact_id(), new.tenant, case new.state when 0 then 1 else 2 end, count(*), min(case new.state when 0 then new.score else new.due end), max(a.w)
      from new join a on a.id = new.id and new.queued = now + a.ord - 1 group by new.tenant, new.state
    )
    select (new.id is not null)::int, null::text from a left join new on new.id = a.id and new.queued = now + a.ord - 1 order by a.ord;
  end if;
  perform @.wake(q);
end $$;

-- push_alone is push by itself, not in a user's transaction. Calls share it: one task whose ID, or unique key, an open transaction has must not hold up
-- the others for long.
do $copy$ begin execute regexp_replace(pg_get_functiondef('@.push'::regproc), '[.]"?push"?[(]', '.push_alone('); end $copy$; -- quote_all_identifiers may be on
alter function @.push_alone set lock_timeout = '1s';

-- push_checked is push where there are limits or unique keys.
create or replace function @.push_checked(c @.queue, now bigint, strict int, ids text[], tenants text[], prios smallint[], costs bigint[], ws float8[], ats bigint[],
  delays bigint[], deadlines bigint[], mosts int[], ukeys text[], ufors bigint[], metas bytea[], loads bytea[]) returns table (res int, owner text) language plpgsql as $$
declare q int := c.id; n int := cardinality(ids); out int[] := array_fill(0, array[n]); owners text[] := array_fill(null::text, array[n]); mine text;
  s @.state; r record; here jsonb := '{}'; tq bigint; gq bigint := coalesce(c.maxqueued, 0); held bigint; dups int := 0; full_ int := 0;
begin
  for r in with a as (
      select u.*, case when u.due > 0 then u.due else now + ord - 1 + u.delay end due0 from unnest(ids, tenants, prios, costs, ats, delays, deadlines, mosts, ukeys, ufors, metas, loads)
        with ordinality u(id, tenant, prio, cost, due, delay, deadline, most, ukey, ufor, meta, load, ord)
    )
    insert into @.task (queue, id, tenant, state, priority, cost, attempt, most, queued, first, due, deadline, score, meta, payload, ukey, ends)
    select q, a.id, a.tenant, case when due0 > now + ord - 1 then 2 else 0 end, a.prio, a.cost, 0, a.most, now + ord - 1, greatest(due0, now + ord - 1), due0, a.deadline,
      @.score(greatest(due0, now + ord - 1), a.prio, c.aging), a.meta, a.load, nullif(a.ukey, ''), a.ukey <> '' and a.ufor = 0 from a order by a.id, a.ord
    on conflict do nothing returning queued - now + 1 ord
  loop out[r.ord] := 1; end loop;

  for r in select * from unnest(tenants, ukeys, ids, ufors) with ordinality u(tenant, ukey, id, ufor, ord) where u.ukey <> '' and out[ord] = 1 order by u.tenant, u.ukey, ord loop
    delete from @.ukey y where y.ukey = r.ukey and y.tenant = r.tenant and y.queue = q and y.until <= now;
    loop
      insert into @.ukey values (q, r.tenant, r.ukey, r.id, case when r.ufor > 0 then now + r.ufor end) on conflict do nothing;
      exit when found;
      select y.id into mine from @.ukey y where y.ukey = r.ukey and y.tenant = r.tenant and y.queue = q;
      continue when not found and current_setting('transaction_isolation') = 'read committed'; -- it has ended just now
      delete from @.task t where t.id = r.id and t.queue = q;
      out[r.ord] := 2; owners[r.ord] := coalesce(mine, r.id); dups := dups + 1;
      exit;
    end loop;
  end loop;

  if strict >= 0 and (gq > 0 or c.maxqueuedpertenant > 0 or c.capped) then
    if strict = 1 then perform @.lock(q); s := @.apply(c); if s.changed then perform @.put(s); end if;
    else select * into s from @.state where queue = q order by seq desc limit 1; end if;
    held := s.queued + s.delayed;
    for k in 1..n loop
      continue when out[k] <> 1;
      tq := coalesce((here ->> tenants[k])::bigint, 0);
      select coalesce(x.qm, c.maxqueuedpertenant, 0) most, x.n + x.z c into r from @.tenant x where x.queue = q and x.tenant = tenants[k] order by seq desc limit 1;
      if not found then select coalesce(c.maxqueuedpertenant, 0) most, 0::bigint c into r; end if;
      if r.most > 0 and r.c + tq >= r.most then out[k] := -1;
      elsif gq > 0 and held >= gq then out[k] := -2;
      else held := held + 1; here := here || jsonb_build_object(tenants[k], tq + 1); continue; end if;
      full_ := full_ + 1;
      delete from @.task t where t.id = ids[k] and t.queue = q;
      delete from @.ukey y where y.ukey = ukeys[k] and y.tenant = tenants[k] and y.queue = q and y.id = ids[k];
    end loop;
  end if;

  -- One that has the unique key of a task that a limit has refused in this call is no duplicate: it is of the same tenant, and meets the same limit. One
  -- that has its ID is not known; the client calls again for that.
  if full_ > 0 then
    for r in select x.ord refused, y.ord ord from unnest(ids) with ordinality x(id, ord) join unnest(owners) with ordinality y(owner, ord)
      on out[y.ord] = 2 and y.owner = x.id where out[x.ord] < 0 and ukeys[x.ord] = ukeys[y.ord]
    loop
      out[r.ord] := out[r.refused]; owners[r.ord] := null; full_ := full_ + 1; dups := dups - 1;
    end loop;
  end if;

  insert into @.log (queue, xid, tenant, kind, n, low, w)
    select q, pg_current_xact_id(), t.tenant, case t.state when 0 then 1 else 2 end, count(*), min(case t.state when 0 then t.score else t.due end), max(ws[u.ord])
    from unnest(ids) with ordinality u(id, ord) join @.task t on t.id = u.id and t.queue = q where out[u.ord] = 1 group by t.tenant, t.state
    union all select q, pg_current_xact_id(), '', 13, dups, null, null where dups > 0
    union all select q, pg_current_xact_id(), '', 14, full_, null, null where full_ > 0;
  return query select * from unnest(out, owners);
end $$;
