-- firqpg, version 2 of the schema: results that are kept, and rates per tenant.

create table @.result (
  queue int not null, id text collate "C" not null, tenant text collate "C" not null,
  priority smallint not null, cost bigint not null, attempt int not null, most int not null, first bigint not null,
  ukey text collate "C", meta bytea, payload bytea not null,
  acked bigint not null, until bigint not null,     -- from when, and until when it is kept
  result bytea not null,
  primary key (id, queue));
create index result_until on @.result (queue, until, id);
alter table @.result set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- Who may do something with tasks may do it with these.
do $grants$ declare r record; begin
  for r in select case grantee when 0 then 'public' else grantee::regrole::text end who, privilege_type from pg_class, aclexplode(relacl)
    where pg_class.oid = '@.task'::regclass and grantee <> relowner
  loop execute format('grant %s on @.result to %s', r.privilege_type, r.who); end loop;
end $grants$;

alter table @.state add column kmark bigint not null default 0; -- nothing that is visible is kept until before

alter table @.queue add column rate float8, add column burst bigint, -- of tenants without their own; null: none
  add column rated boolean not null default false;  -- there has been a rate

-- used was used of the burst at usedat, and has come back at usedrate per second since. rate below 0: none, whatever the queue has.
alter table @.tenant add column rate float8, add column burst bigint, add column used float8, add column usedat bigint, add column usedrate float8,
  add column held bigint;                           -- its rate holds its next task back until then, and it is not ready; null: it does not
create index tenant_held on @.tenant (queue, held) where held is not null;

alter table @.state add column hmark bigint not null default 0; -- no tenant may go on before

update @.version set version = 2;
