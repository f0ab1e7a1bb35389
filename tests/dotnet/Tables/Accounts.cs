using System.Net;
using Azure;
using Azure.Data.Tables;
using Azure.Data.Tables.Models;
using Azure.Data.Tables.Sas;
using static Tidemark.Tests.Tables.Clients;

namespace Tidemark.Tests.Tables;

/// Tables, credentials, signatures, connection strings, properties of the service, and retries.
public sealed class Accounts(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly TableClient table = fresh.Client;
    readonly string key = Stores.FreshName();

    static DateTimeOffset Soon => DateTimeOffset.UtcNow.AddHours(1);

    [Fact]
    public async Task Create_twice()
    {
        var name = Stores.FreshName();
        TableItem made = await Service().CreateTableAsync(name);
        Assert.Equal(name, made.Name);
        await Refused.With(409, "TableAlreadyExists", () => Service().CreateTableAsync(name));
        // The SDK takes 409 for an answer.
        Assert.Equal(name, (await Service().CreateTableIfNotExistsAsync(name)).Value?.Name ?? name);
        Assert.Equal(name, (await Table(name).CreateIfNotExistsAsync()).Value?.Name ?? name);
        await Service().DeleteTableAsync(name);
    }

    [Theory]
    [InlineData("ab")]
    [InlineData("1abc")]
    [InlineData("a-b-c")]
    [InlineData("a.b.c")]
    public async Task A_bad_name(string name)
    {
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => Service().CreateTableAsync(name));
        Assert.Equal(400, error.Status);
        Assert.Contains(error.ErrorCode, (string?[])["InvalidResourceName", "OutOfRangeInput"]);
    }

    [Fact]
    public async Task A_name_in_another_case_is_the_same_table()
    {
        await table.AddEntityAsync(new TableEntity("case", key));
        Assert.NotNull(await Table(table.Name.ToUpperInvariant()).Read<TableEntity>("case", key));
        await Refused.With(409, "TableAlreadyExists", () => Service().CreateTableAsync(table.Name.ToUpperInvariant()));
    }

    [Fact]
    public async Task Tables_by_prefix_and_name()
    {
        var prefix = Stores.FreshName("list");
        foreach (var i in Enumerable.Range(0, 5)) await Service().CreateTableAsync($"{prefix}{i}");
        // WebJobs' host asks for a prefix like this.
        var from = prefix;
        var to = prefix + "{";
        var found = await Service().QueryAsync(t => t.Name.CompareTo(from) >= 0 && t.Name.CompareTo(to) < 0).ToList();
        Assert.Equal(Enumerable.Range(0, 5).Select(i => $"{prefix}{i}"), found.Select(t => t.Name));
        var one = $"{prefix}3";
        Assert.Equal(one, Assert.Single(await Service().QueryAsync(t => t.Name == one).ToList()).Name);
        Assert.Equal(one, Assert.Single(await Service().QueryAsync(TableServiceClient.CreateQueryFilter($"TableName eq {one}")).ToList()).Name);
        var pages = new List<int>();
        await foreach (var page in Service().QueryAsync(t => t.Name.CompareTo(from) >= 0 && t.Name.CompareTo(to) < 0, maxPerPage: 2).AsPages()) pages.Add(page.Values.Count);
        Assert.Equal(5, pages.Sum());
        Assert.All(pages, size => Assert.InRange(size, 0, 2));
        foreach (var i in Enumerable.Range(0, 5)) await Service().DeleteTableAsync($"{prefix}{i}");
    }

    [Theory]
    [InlineData("plain")]
    [InlineData("a semicolon at the end")]
    [InlineData("another order")]
    [InlineData("unknown parts")]
    public async Task A_connection_string(string form)
    {
        var endpoint = Stores.Tables.AbsoluteUri;
        var text = form switch
        {
            "plain" => Stores.Connection,
            "a semicolon at the end" => $"DefaultEndpointsProtocol=http;AccountName={Stores.Account};AccountKey={Stores.Key};TableEndpoint={endpoint};",
            "another order" => $"TableEndpoint={endpoint};AccountKey={Stores.Key};AccountName={Stores.Account}",
            _ => $"AccountName={Stores.Account};AccountKey={Stores.Key};TableEndpoint={endpoint};BlobEndpoint=http://127.0.0.1:1/x;EndpointSuffix=core.windows.net",
        };
        var client = new TableClient(text, table.Name);
        await client.UpsertEntityAsync(new TableEntity("connection", form));
        Assert.NotNull(await client.Read<TableEntity>("connection", form));
        Assert.Equal(Stores.Account, client.AccountName);
    }

    [Fact]
    public async Task A_connection_string_with_a_signature()
    {
        var sas = Service().GetSasBuilder(TableAccountSasPermissions.All, TableAccountSasResourceTypes.All, Soon).Sign(Key);
        var client = new TableServiceClient($"TableEndpoint={Stores.Tables};SharedAccessSignature={sas}");
        await client.GetTableClient(table.Name).AddEntityAsync(new TableEntity("sas", key));
        Assert.NotEmpty(await client.QueryAsync().ToList());
    }

    [Fact]
    public async Task A_connection_string_with_a_secondary()
    {
        var client = new TableServiceClient($"{Stores.Connection};TableSecondaryEndpoint={Stores.SecondaryOf(Stores.Tables)}");
        Assert.NotEmpty(await client.QueryAsync().ToList());
        TableServiceStatistics statistics = await client.GetStatisticsAsync();
        Assert.Equal(TableGeoReplicationStatus.Live, statistics.GeoReplication.Status);
    }

    [Fact]
    public async Task A_wrong_key()
    {
        var wrong = new TableSharedKeyCredential(Stores.Account, Convert.ToBase64String(new byte[64]));
        await Refused.With(403, "AuthenticationFailed", () => new TableServiceClient(Stores.Tables, wrong).QueryAsync().ToList());
    }

    [Fact]
    public async Task Statistics_come_from_the_secondary()
    {
        TableServiceStatistics statistics = await Service().GetStatisticsAsync();
        Assert.Equal(TableGeoReplicationStatus.Live, statistics.GeoReplication.Status);
        Assert.InRange(statistics.GeoReplication.LastSyncedOn, DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddMinutes(1));
    }

    [Fact]
    public async Task The_secondary_reads_and_does_not_write()
    {
        await table.AddEntityAsync(new TableEntity("secondary", key));
        var secondary = new TableClient(Stores.SecondaryOf(Stores.Tables), table.Name, new TableSharedKeyCredential(Stores.Account, Stores.Key));
        Assert.NotNull(await secondary.Read<TableEntity>("secondary", key));
        Assert.Single(await secondary.Find($"RowKey eq '{key}'"));
        await Refused.With(403, "InsufficientAccountPermissions", () => secondary.UpsertEntityAsync(new TableEntity("secondary", key)));
    }

    TableClient By(Uri signed) => new(signed);

    [Fact]
    public async Task A_signature_that_reads()
    {
        await table.AddEntityAsync(new TableEntity("sas", key));
        var reader = By(table.GenerateSasUri(TableSasPermissions.Read, Soon));
        Assert.NotNull(await reader.Read<TableEntity>("sas", key));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.AddEntityAsync(new TableEntity("sas", key + "x")));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.UpsertEntityAsync(new TableEntity("sas", key)));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.DeleteEntityAsync("sas", key));
    }

    [Fact]
    public async Task A_signature_that_writes_in_transactions()
    {
        var writer = By(table.GenerateSasUri(TableSasPermissions.Add | TableSasPermissions.Update, Soon));
        await writer.SubmitTransactionAsync([Add(new TableEntity(key, "1")), Put(new TableEntity(key, "2"))]);
        await Refused.With(403, "AuthorizationPermissionMismatch", () => writer.Find($"PartitionKey eq '{key}'"));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => writer.DeleteEntityAsync(key, "1"));
    }

    [Fact]
    public async Task A_signature_for_a_range()
    {
        var builder = new TableSasBuilder(table.Name, TableSasPermissions.All, Soon)
        {
            PartitionKeyStart = key, PartitionKeyEnd = key, RowKeyStart = "b", RowKeyEnd = "d",
        };
        foreach (var row in new[] { "a", "b", "c", "e" }) await table.AddEntityAsync(new TableEntity(key, row));
        var ranged = new TableClient(new Uri(Stores.Tables, $"{Stores.Account}/{table.Name}"), new AzureSasCredential(builder.Sign(TableKey)));
        Assert.Equal("b c", string.Join(" ", (await ranged.Find($"PartitionKey eq '{key}'")).Select(e => e.RowKey)));
        await ranged.UpsertEntityAsync(new TableEntity(key, "d"));
        await Refused.With(403, "AuthorizationFailure", () => ranged.UpsertEntityAsync(new TableEntity(key, "e")));
    }

    static TableSharedKeyCredential TableKey => new(Stores.Account, Stores.Key);

    [Fact]
    public async Task A_signature_by_a_stored_policy()
    {
        var own = await Created(Stores.FreshName());
        var expires = DateTimeOffset.UtcNow.AddDays(1);
        await own.SetAccessPolicyAsync([
            new TableSignedIdentifier("readers", new TableAccessPolicy(null, expires, "r")),
            new TableSignedIdentifier("bare", new TableAccessPolicy(null, null, null))]);
        var policies = (await own.GetAccessPoliciesAsync()).Value;
        Assert.Equal(["readers", "bare"], policies.Select(policy => policy.Id));
        Assert.Equal("r", policies[0].AccessPolicy.Permission);
        Assert.Equal(expires.ToUnixTimeSeconds(), policies[0].AccessPolicy.ExpiresOn!.Value.ToUnixTimeSeconds());

        var builder = new TableSasBuilder { TableName = own.Name, Identifier = "readers" };
        var reader = new TableClient(new Uri(Stores.Tables, $"{Stores.Account}/{own.Name}"), new AzureSasCredential(builder.Sign(TableKey)));
        Assert.Empty(await reader.QueryAsync<TableEntity>().ToList());
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.AddEntityAsync(new TableEntity("p", "r")));
        await own.SetAccessPolicyAsync([]);
        await Refused.With(403, "AuthenticationFailed", () => reader.QueryAsync<TableEntity>().ToList());
        await own.DeleteAsync();
    }

    [Fact]
    public async Task A_signature_that_is_over_or_not_yet_valid()
    {
        await Refused.With(403, "AuthenticationFailed",
            () => By(table.GenerateSasUri(TableSasPermissions.Read, DateTimeOffset.UtcNow.AddMinutes(-5))).QueryAsync<TableEntity>().ToList());
        var builder = new TableSasBuilder(table.Name, TableSasPermissions.Read, Soon) { StartsOn = DateTimeOffset.UtcNow.AddMinutes(30) };
        await Refused.With(403, "AuthenticationFailed", () => By(table.GenerateSasUri(builder)).QueryAsync<TableEntity>().ToList());
    }

    [Fact]
    public async Task A_signature_of_the_account_for_objects_only()
    {
        var builder = Service().GetSasBuilder(TableAccountSasPermissions.Read | TableAccountSasPermissions.Add, TableAccountSasResourceTypes.Object, Soon);
        var service = new TableServiceClient(Service().GenerateSasUri(builder));
        await service.GetTableClient(table.Name).AddEntityAsync(new TableEntity("sas", key));
        await Refused.With(403, "AuthorizationResourceTypeMismatch", () => service.CreateTableAsync(Stores.FreshName()));
    }

    [Fact]
    public async Task Properties_of_the_service()
    {
        TableServiceProperties before = await Service().GetPropertiesAsync();
        TableServiceProperties next = await Service().GetPropertiesAsync();
        next.Cors.Clear();
        next.Cors.Add(new TableCorsRule("https://a.example,https://b.example", "GET,PUT", "x-ms-*", "x-ms-meta-*", 60));
        next.HourMetrics = new TableMetrics(true) { Version = "1.0", IncludeApis = true, RetentionPolicy = new TableRetentionPolicy(true) { Days = 7 } };
        next.Logging = new TableAnalyticsLoggingSettings("1.0", true, false, true, new TableRetentionPolicy(false));
        await Service().SetPropertiesAsync(next);
        TableServiceProperties read = await Service().GetPropertiesAsync();
        Assert.Equal(("https://a.example,https://b.example", "GET,PUT", 60), (read.Cors[0].AllowedOrigins, read.Cors[0].AllowedMethods, read.Cors[0].MaxAgeInSeconds));
        Assert.Equal((true, true, 7), (read.HourMetrics.Enabled, read.HourMetrics.IncludeApis, read.HourMetrics.RetentionPolicy.Days));
        Assert.Equal((true, false, true), (read.Logging.Delete, read.Logging.Read, read.Logging.Write));
        await Service().SetPropertiesAsync(before);
    }

    [Fact]
    public async Task A_busy_store_is_asked_again()
    {
        var wire = Wire.Busy(2);
        var client = Table(table.Name, new TableClientOptions().Through(wire));
        await client.AddEntityAsync(new TableEntity("retry", key));
        Assert.Equal(3, wire.Calls.Count);
        Assert.Single(wire.Calls.Select(call => call.Headers["x-ms-client-request-id"]).Distinct());
    }

    [Fact]
    public async Task A_store_that_stays_busy_is_given_up()
    {
        var wire = Wire.Busy(100);
        var client = Table(table.Name, new TableClientOptions().Through(wire, retries: 2));
        await Refused.With(503, null, () => client.AddEntityAsync(new TableEntity("retry", key)));
        Assert.Equal(3, wire.Calls.Count);
    }

    [Fact]
    public async Task A_lost_answer_makes_an_insert_conflict_and_an_upsert_not()
    {
        await Refused.With(409, "EntityAlreadyExists", () =>
            Table(table.Name, new TableClientOptions().Through(Wire.Forgetful(1))).AddEntityAsync(new TableEntity("lost", key)));
        await Table(table.Name, new TableClientOptions().Through(Wire.Forgetful(1))).UpsertEntityAsync(new TableEntity("lost", key) { ["A"] = 1 });
        TableEntity read = await table.GetEntityAsync<TableEntity>("lost", key);
        Assert.Equal(1, read.GetInt32("A"));
        await Refused.With(412, "UpdateConditionNotSatisfied", () =>
            Table(table.Name, new TableClientOptions().Through(Wire.Forgetful(1))).UpdateEntityAsync(read, read.ETag));
    }

    [Fact]
    public async Task A_lost_answer_of_a_transaction()
    {
        var forgetful = Table(table.Name, new TableClientOptions().Through(Wire.Forgetful(1)));
        var error = await Assert.ThrowsAsync<TableTransactionFailedException>(
            () => forgetful.SubmitTransactionAsync([Put(new TableEntity(key, "1")), Add(new TableEntity(key, "2"))]));
        Assert.Equal((409, 1), (error.Status, error.FailedTransactionActionIndex));
        Assert.Equal("1 2", await table.RowKeys($"PartitionKey eq '{key}'"));
    }

    [Fact]
    public async Task A_refusal_is_not_repeated()
    {
        var wire = new Wire();
        var client = Table(table.Name, new TableClientOptions().Through(wire));
        await Refused.With(404, "ResourceNotFound", () => client.GetEntityAsync<TableEntity>("none", key));
        Assert.Single(wire.Calls);
    }

    [Fact]
    public async Task The_dialect_is_that_of_this_SDK()
    {
        var wire = new Wire();
        var client = Table(table.Name, new TableClientOptions().Through(wire));
        await client.AddEntityAsync(new TableEntity("wire", key));
        await client.UpdateEntityAsync(new TableEntity("wire", key), ETag.All);
        Assert.Equal(["POST", "PATCH"], wire.Calls.Select(call => call.Method.Method));
        Assert.All(wire.Calls, call => Assert.StartsWith("SharedKeyLite ", call.Headers["Authorization"], StringComparison.Ordinal));
        Assert.All(wire.Calls, call => Assert.Equal("3.0", call.Headers["DataServiceVersion"]));
    }

    [Fact]
    public void The_development_storage_means_its_usual_ports()
    {
        // A proxy changes the host and never the ports, so these can only be read here.
        Assert.Equal("http://127.0.0.1:10002/devstoreaccount1", new TableServiceClient("UseDevelopmentStorage=true").Uri.AbsoluteUri.TrimEnd('/'));
        Assert.Equal(10002, new TableServiceClient("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://tidemark").Uri.Port);
    }

    [Fact]
    public async Task A_date_that_is_too_old_is_refused()
    {
        var wire = new Wire();
        using var http = new HttpClient();
        await Table(table.Name, new TableClientOptions().Through(wire)).Find("PartitionKey eq 'none'");
        // The request as it was signed, with another date than the signed one.
        using var request = new HttpRequestMessage(HttpMethod.Get, wire.Calls[0].Uri);
        foreach (var (name, value) in wire.Calls[0].Headers) request.Headers.TryAddWithoutValidation(name, value);
        request.Headers.Remove("x-ms-date");
        request.Headers.Add("x-ms-date", DateTime.UtcNow.AddMinutes(-20).ToString("R"));
        using var answer = await http.SendAsync(request);
        Assert.Equal(HttpStatusCode.Forbidden, answer.StatusCode);
    }
}
