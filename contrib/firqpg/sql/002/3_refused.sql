-- firqpg, version 2 of the schema: what shares a call with a task that was refused.
--
-- One that has the unique key of a task that a limit has refused in the same call is no duplicate: it is of the same tenant, and meets the same limit. One that
-- has its ID is not known; the client calls again for that.
do $hook$ declare old text := pg_get_functiondef('@.push_checked'::regproc); new text := replace(old, E'  insert into @.log (', $added$  if full_ > 0 then
    for r in select x.ord refused, y.ord ord from unnest(ids) with ordinality x(id, ord) join unnest(owners) with ordinality y(owner, ord)
      on out[y.ord] = 2 and y.owner = x.id where out[x.ord] < 0 and ukeys[x.ord] = ukeys[y.ord]
    loop
      out[r.ord] := out[r.refused]; owners[r.ord] := null; full_ := full_ + 1; dups := dups - 1;
    end loop;
  end if;

  insert into @.log ($added$);
begin
  if new = old then raise exception 'firqpg: push_checked is not that of version 1'; end if;
  execute new;
end $hook$;
