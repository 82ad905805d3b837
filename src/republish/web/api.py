"""The same actions as JSON under /api, for pipelines; described at /api/openapi.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from fastapi.responses import Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from republish.web import DeskError, NotFound, WrongType
from republish.web.desk import FILES, Desk
from republish.web.documents import job_document, plain
from republish.web.downloads import PARTS, altered_words, sent
from republish.web.request_models import AskedRelease
from republish.web.security import REPORT_POLICY
from republish.web.uploads.uploads import AT_ONCE, Upload

_RAW = ("text/csv", "application/vnd.apache.parquet", "application/octet-stream")
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonld": "application/ld+json",
    "xml": "application/xml",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "R": "text/plain; charset=utf-8",
}

Name = Annotated[str, Path(description="The name of a series.", max_length=255)]
Part = Annotated[str, Path(pattern=r"^part-[0-9]{5,}\.(parquet|csv)$")]
AllTheSame = Annotated[
    Literal["yes"] | None, Query(description="yes: the release was withdrawn, and is wanted all the same.")
]
Number = Annotated[int, Path(description="The number of a release, from 1 on.", ge=1, le=10**6)]
Id = Annotated[str, Field(pattern="^[0-9a-f]{32}$", description="What POST /api/uploads returned.")]


class Strict(BaseModel):
    """A body in which nothing unknown may stand."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong, what was found and what to do."""

    kind: str
    message: str
    remedy: str | None = None


class Problems(BaseModel):
    """The one shape of errors."""

    error: Problem


class JobModel(BaseModel):
    """A piece of work and how far it is."""

    id: str
    kind: Literal["dry-run", "publish", "attack"]
    series: str
    state: Literal["waiting", "running", "done", "refused", "failed"]
    step: str
    done: int
    of: int
    message: str
    result: dict[str, Any] | None
    problem: str | None
    started_at: str


class UploadModel(BaseModel):
    """A view that the desk keeps for an hour, or until it is published."""

    id: str
    bytes: int
    format: Literal["csv", "parquet", "xlsx", "sav", "dta", "sas7bdat", "xpt"]
    digest: str


Truth = Annotated[
    list[Id], Field(max_length=AT_ONCE, description="Uploads of raw views, in the order of releases.")
]


class ViewBody(Strict):
    """Which upload."""

    upload: Id


class PublishBody(ViewBody):
    """Which upload, and the date that its release speaks of."""

    as_of: str | None = Field(None, max_length=40, description="A date, later than that of the last release.")
    meant: list[Literal["new-people", "fewer-rows", "same-view"]] = Field(
        default_factory=list,
        description="What would else be refused as a mistake: almost nobody in the view is recognised; it is empty or "
        "a small part of the last one; it is the last one once more.",
    )
    expect_anyway: str | None = Field(
        None,
        max_length=500,
        description="Why a view is published that differs from the last by more than [expect] allows; it is recorded.",
    )
    truth: Truth = Field(
        default_factory=list,
        description="Raw views of all earlier releases, for linkage and presence in the gate.",
    )
    hold_newcomers: bool = Field(
        False, description="People who were in no release before wait for a later one."
    )
    corrects: int | None = Field(
        None, ge=1, description="The last release, whose place this one takes; it is withdrawn."
    )

    def asked(self) -> AskedRelease:
        """The same as the desk takes it."""
        return AskedRelease(**self.model_dump(exclude={"upload", "expected_head"}))


class ConfirmBody(PublishBody):
    """The same, for a series that is still as the trial run found it."""

    expected_head: str | None = Field(
        None,
        max_length=128,
        description="`head` of the result of the trial run; 409 where the series changed since.",
    )


class WithdrawBody(Strict):
    """Why a release is withdrawn."""

    reason: str = Field(min_length=1, max_length=500, description="For the record, without names of people.")


class AttackBody(Strict):
    """Who attacks, and how; without names all attacks that can be made."""

    adversary: dict[str, bool | int | float | str | None] = Field(
        default_factory=dict,
        description="compromised, event_lists, cascade, seed, posterior, steps, certainty.",
    )
    attacks: list[str] | None = None
    truth: Truth = Field(
        default_factory=list,
        description="Raw views of all releases, for linkage and presence; erased afterwards.",
    )


class ColumnBody(Strict):
    """One column as a person confirmed it."""

    name: str
    role: str
    kind: str | None = None
    form: str | None = Field(None, description="How its days are written: one of `forms`.")
    missing: list[str] = Field(default_factory=list, description="Those of `maybe` that mean missing.")
    why: str | None = None
    looks: str | None = None
    forms: list[str] = Field(default_factory=list)
    maybe: list[str] = Field(default_factory=list)


class CreateBody(ViewBody):
    """A new series with the columns of an uploaded view."""

    name: str
    roles: list[ColumnBody]
    publisher: str | None = Field(
        None, description="Without one, that which is recommended for the view and the answers."
    )
    answers: dict[str, bool | str] = Field(
        default_factory=dict, description="Answers to the questions of docs/choose.md by name: yes or no."
    )
    further: list[str] = Field(
        default_factory=list,
        description="Uploads of views that followed, oldest first: what is recommended is tried on them too.",
    )
    parameters: dict[str, bool | int | float | str] = Field(default_factory=dict)
    require: str = ""
    gate: str | dict[str, Any] | None = Field(
        None,
        description='Limits, or "recommended" for one that is tried on the uploads, or "none". Without it the '
        "recommended one where no publisher is named, else none; `no_gate` of the answer says why there is none.",
    )
    one_table: bool = False
    no_sensitive: bool = False
    form: str | dict[str, bool | int | float | str] | None = Field(
        None, description='"one-table", or "two-tables", or the same with k, presence and hide_batch.'
    )
    report: dict[str, str] = Field(
        default_factory=dict, description="What the report says: title, purpose, recipients, legal_basis, ..."
    )


_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problems} for status in (400, 401, 403, 404, 405, 409, 413, 415, 422, 500)
}


def router(desk: Desk) -> APIRouter:
    """Everything under /api."""
    api = APIRouter(prefix="/api", responses=_ERRORS, dependencies=[Depends(HTTPBearer(auto_error=False))])
    _read(api, desk)
    _downloads(api, desk)
    _views(api, desk)
    _work(api, desk)
    return api


def _read(api: APIRouter, desk: Desk) -> None:
    @api.get("/series", summary="All series")
    def all_series() -> dict[str, Any]:
        found = [
            {
                "name": one.name,
                "publisher": one.publisher,
                "releases": len(one.releases),
                "last": one.releases[-1].as_of if one.releases else None,
                "gate": one.gate,
                "head": one.head,
                "problems": one.problems,
                "notices": desk.notices(one.name),
            }
            for one in desk.series()
        ]
        return plain({"series": found, "broken": desk.broken(), "can_create": desk.home is not None})

    @api.get("/series/{name}", summary="One series: columns, promises, releases, assessments")
    def one_series(name: Name) -> dict[str, Any]:
        return plain(desk.one(name).as_dict() | {"notices": desk.notices(name)})

    @api.get("/series/{name}/releases/{number}", summary="One release as the ledger recorded it")
    def one_release(name: Name, number: Number) -> dict[str, Any]:
        found = desk.one_release(name, number).as_dict()
        return plain(
            found | {"problems": [altered_words(number, file) for file in desk.altered(name, number)]}
        )

    @api.get("/series/{name}/releases/{number}/picture", summary="Groups over two quasi-identifiers")
    def picture(
        name: Name,
        number: Number,
        x: Annotated[str | None, Query(description="A quasi-identifier.")] = None,
        y: Annotated[str | None, Query(description="Another one.")] = None,
    ) -> dict[str, Any]:
        if (x is None) != (y is None):
            raise DeskError("a picture has two axes; give both x and y, or neither")
        return plain(desk.release_picture(name, number, None if x is None or y is None else (x, y)))

    @api.get("/series/{name}/releases/{number}/batches", summary="Batches with the shares of their values")
    def batches(name: Name, number: Number) -> dict[str, Any]:
        found = desk.release_batches(name, number)
        if found is None:
            raise NotFound("this series is published in one table, which has no batches")
        return plain(found)

    @api.get("/series/{name}/tuned", summary="Frontiers that `republish tune` kept")
    def tuned(name: Name) -> list[dict[str, Any]]:
        return plain(desk.tuned(name))

    @api.get("/series/{name}/audit", summary="The last lines of the audit log")
    def audit_lines(name: Name) -> list[dict[str, Any]]:
        return plain(desk.audit_lines(name))

    @api.get("/publishers", summary="Every publisher and its parameters")
    def publishers() -> list[dict[str, Any]]:
        return plain(desk.publishers())

    @api.get("/jobs", summary="Jobs of this desk, oldest first", response_model=list[JobModel])
    def jobs() -> list[dict[str, Any]]:
        return [job_document(job) for job in desk.jobs.all()]

    @api.get("/jobs/{job}", summary="How far a job is", response_model=JobModel)
    def one_job(job: Annotated[str, Path(max_length=64)]) -> dict[str, Any]:
        return job_document(desk.jobs.get(job))


def _downloads(api: APIRouter, desk: Desk) -> None:
    def offer(file: str) -> None:
        suffix = file.rpartition(".")[2]
        media = _MEDIA[suffix].partition(";")[0]
        schema = (
            {"type": "object"} if suffix in ("json", "jsonld") else {"type": "string", "format": "binary"}
        )

        @api.get(
            f"/series/{{name}}/releases/{{number}}/{file}",
            summary=f"Download {file}",
            operation_id=f"download_{file.replace('.', '_')}",
            response_class=Response,
            responses={200: {"content": {media: {"schema": schema}}}},
        )
        def download(name: Name, number: Number, withdrawn: AllTheSame = None) -> Response:
            found = desk.file(name, number, file, withdrawn == "yes")
            return sent(found, f"release-{number:04d}-{file}", _MEDIA[suffix])

    for file in FILES:
        offer(file)

    def offer_part(whole: str) -> None:
        media = _MEDIA[whole.rpartition(".")[2]]

        @api.get(
            f"/series/{{name}}/releases/{{number}}/{whole}/{{part}}",
            summary=f"Download a part of {whole} where it lies in parts",
            response_class=Response,
            responses={200: {"content": {media: {"schema": {"type": "string", "format": "binary"}}}}},
        )
        def download_part(name: Name, number: Number, part: Part, withdrawn: AllTheSame = None) -> Response:
            found = desk.file(name, number, f"{whole}/{part}", withdrawn == "yes")
            return sent(found, f"release-{number:04d}-{part}", media)

    for whole in PARTS:
        offer_part(whole)

    @api.get(
        "/series/{name}/report",
        summary="The disclosure report",
        response_class=Response,
        responses={
            200: {
                "content": {
                    _MEDIA[form].partition(";")[0]: {"schema": {"type": "string"} if form != "json" else {}}
                    for form in ("html", "md", "json")
                }
            }
        },
    )
    def report(name: Name, format: Literal["html", "json", "md"] = "html") -> Response:  # noqa: A002
        headers = {
            "Content-Disposition": f'attachment; filename="report.{format}"',
            "Content-Security-Policy": REPORT_POLICY,  # should a browser open it, it may load and run nothing
        }
        return Response(desk.report(name, format), media_type=_MEDIA[format], headers=headers)


def _views(api: APIRouter, desk: Desk) -> None:
    binary = {"schema": {"type": "string", "format": "binary"}}
    form = {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {"file": {"type": "string", "format": "binary"}},
        }
    }

    @api.post(
        "/uploads",
        summary="Upload a view: CSV (UTF-8) or Parquet, as a form with `file` or as the body itself",
        status_code=201,
        response_model=UploadModel,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"multipart/form-data": form, **dict.fromkeys(_RAW, binary)},
            }
        },
    )
    async def upload(request: Request) -> dict[str, Any]:
        content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content == "multipart/form-data":
            async with request.form(max_files=1, max_fields=4) as given:
                file = given.get("file")
                if not isinstance(file, UploadFile):
                    raise DeskError("the form has no file; send the view in a field called file")
                found = await run_in_threadpool(desk.upload, file)
            return desk.uploads.get(found).as_dict()
        if content not in _RAW:
            raise WrongType(f"send multipart/form-data, or the file itself as {', '.join(_RAW)}")
        return (await _streamed(desk, request)).as_dict()

    @api.delete("/uploads/{upload}", summary="Erase an upload", status_code=204)
    def erase(upload: Annotated[str, Path(max_length=64)]) -> None:
        desk.uploads.get(upload)
        desk.uploads.remove(upload)

    @api.post("/propose", summary="Propose a role and a kind for every column of an upload")
    def propose(body: ViewBody) -> dict[str, Any]:
        return plain(desk.propose(body.upload))

    @api.post("/series/{name}/check", summary="Compare the columns of an upload with the schema")
    def check(name: Name, body: ViewBody) -> dict[str, Any]:
        return plain(desk.check(name, body.upload))


def _work(api: APIRouter, desk: Desk) -> None:
    @api.post("/series", summary="Make a series with the columns of an upload", status_code=201)
    def create(body: CreateBody) -> dict[str, Any]:
        roles = [column.model_dump(exclude={"why", "looks", "forms", "maybe"}) for column in body.roles]
        made = desk.create(roles=roles, **body.model_dump(exclude={"roles"})).as_dict()
        advice, no_gate = desk.advice(body.name), desk.no_gate(body.name)
        why = ({} if advice is None else {"recommended": advice}) | ({"no_gate": no_gate} if no_gate else {})
        return plain(made | why)

    @api.post("/series/{name}/dry-run", summary="Publish, all but the commit", status_code=202)
    def dry_run(name: Name, body: PublishBody) -> JobModel:
        return JobModel(**job_document(desk.start_dry_run(name, body.upload, body.asked())))

    @api.post("/series/{name}/publish", summary="Publish an upload; it is erased afterwards", status_code=202)
    def publish(name: Name, body: ConfirmBody) -> JobModel:
        job = desk.start_publish(name, body.upload, body.asked(), body.expected_head)
        return JobModel(**job_document(job))

    @api.post("/series/{name}/releases/{number}/withdraw", summary="Mark a release as withdrawn")
    def withdraw(name: Name, number: Number, body: WithdrawBody) -> dict[str, Any]:
        desk.withdraw(name, number, body.reason)
        return plain(desk.one_release(name, number).as_dict())

    @api.post("/series/{name}/attack", summary="Attack a series; what is found is kept", status_code=202)
    def attack(name: Name, body: Annotated[AttackBody, Body()]) -> JobModel:
        return JobModel(**job_document(desk.start_attack(name, body.adversary, body.attacks, body.truth)))


async def _streamed(desk: Desk, request: Request) -> Upload:
    receiver = await run_in_threadpool(desk.uploads.receive)
    try:
        async for piece in request.stream():
            receiver.write(piece)
        return desk.uploads.add(await run_in_threadpool(receiver.finish))
    except BaseException:
        receiver.discard()
        raise
